"""What every check uses: small graphs, and whether a call changes its surroundings."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.synthetic import SyntheticConfig, planted_graph

NUM_CLASSES = 3


def small_graph(num_nodes: int, *, dense: bool = False) -> Data:
    """A graph of three planted classes, a few edges per node."""
    data = planted_graph(SyntheticConfig(num_nodes=num_nodes, degree=6.0, num_classes=NUM_CLASSES))
    if dense:
        data.x = data.x.to_dense()
    return data


@contextlib.contextmanager
def left_as_they_were(data: Data, subject: str) -> Iterator[None]:
    """Raise if the graph or the global random state has changed afterward."""
    before, state = data.clone().to_dict(), torch.random.get_rng_state()
    yield
    assert torch.equal(torch.random.get_rng_state(), state), (
        f"{subject} must leave the global random state alone: draw from a generator or a seed."
    )
    after = data.to_dict()
    assert after.keys() == before.keys(), f"{subject} must leave the attributes of the graph alone."
    for key, value in before.items():
        same = _same(value, after[key]) if isinstance(value, Tensor) else value == after[key]
        assert same, f"{subject} must not change {key} of the graph in place."


def _same(one: Tensor, other: Tensor) -> bool:
    if one.layout != other.layout:
        return False
    dense = one.layout == torch.strided
    return torch.equal(one, other) if dense else torch.equal(one.to_dense(), other.to_dense())
