"""What every model promises."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.graph.adjacency import Adjacency
from gaug.methods.none.method import NoAugmentation
from gaug.models.base import GNN, as_features
from gaug.models.spec import Model, ModelSpec
from gaug.seeding import seeded
from gaug.testing.surroundings import NUM_CLASSES, left_as_they_were, small_graph

_NUM_NODES = 60


def check_model(model: Model) -> None:
    """Check that a model keeps the promises of every model.

    It returns one finite number per node and class, always the same in evaluation mode. It does not
    depend on the order of the nodes. Edge weights of 1 have no effect. All its parameters are used,
    and it can be trained.

    Args:
        model: A name, settings, or a class or function that makes a module from the number of
            features and the number of classes.

    Raises:
        AssertionError: If a promise is broken; the message says which.
    """
    spec = ModelSpec.of(model)
    data = small_graph(_NUM_NODES, dense=True)
    with left_as_they_were(data, spec.name):
        with seeded(0):
            network = spec.build(int(data.x.size(1)), NUM_CLASSES)
            network.train()
            loss = network(data.x, data.edge_index, None).square().sum()
        loss.backward()
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None or not parameter.requires_grad, (
                f"{spec.name} must use all its parameters, but {name} has no gradient."
            )
        network.eval()
        with torch.no_grad():
            logits = network(data.x, data.edge_index, None)
            _check_logits(spec.name, logits, network(data.x, data.edge_index, None))
            ones = torch.ones(data.num_edges)
            _check_close(
                network(data.x, data.edge_index, ones),
                logits,
                f"{spec.name} must give the same for edge weights of 1 as for none",
            )
            _check_order(spec.name, network, data, logits)
            if isinstance(network, GNN):
                _check_close(
                    network(as_features(data.x.to_sparse_csr()), Adjacency.of(data)),
                    logits,
                    f"{spec.name} must give the same for sparse features and an Adjacency",
                )
        NoAugmentation(model=spec, epochs=3).fit(data).predict(data)


def _check_logits(name: str, logits: Tensor, again: Tensor) -> None:
    expected = [_NUM_NODES, NUM_CLASSES]
    assert list(logits.shape) == expected, (
        f"{name} must give one number per node and class, of shape {expected}, got"
        f" {list(logits.shape)}."
    )
    assert bool(torch.isfinite(logits).all()), f"{name} must give finite numbers."
    assert torch.equal(logits, again), f"{name} must not be random in evaluation mode."


def _check_order(name: str, network: torch.nn.Module, data: Data, logits: Tensor) -> None:
    order = torch.randperm(_NUM_NODES, generator=torch.Generator().manual_seed(0))
    place = torch.empty_like(order)
    place[order] = torch.arange(_NUM_NODES)
    renumbered = network(data.x[order], place[data.edge_index], None)
    _check_close(renumbered, logits[order], f"{name} must not depend on the order of the nodes")


def _check_close(found: Tensor, expected: Tensor, promise: str) -> None:
    torch.testing.assert_close(
        found, expected, rtol=1e-4, atol=1e-4, msg=lambda reason: f"{promise}: {reason}"
    )
