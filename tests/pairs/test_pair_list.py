"""The list of edges and drawn pairs, against a matrix."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaug.pairs import fused_pair_list, pair_list
from gaug.pairs.pair_list import ABSENT_EDGE, ADDED, PRESENT_EDGE, PairList

NOTHING = -1


@pytest.mark.parametrize(("compiled", "threads"), [(True, 1), (True, 3), (False, 1)])
@given(num_nodes=st.integers(1, 12), seed=st.integers(0, 10_000))
def test_every_pair_is_listed_in_both_directions_with_its_kind(
    compiled: bool, threads: int, num_nodes: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    kinds = torch.randint(NOTHING, ADDED + 1, (num_nodes, num_nodes), generator=generator)
    kinds = torch.where(torch.ones(num_nodes, num_nodes).triu(1).bool(), kinds, NOTHING)
    edges = ((kinds == ABSENT_EDGE) | (kinds == PRESENT_EDGE)).nonzero().t().contiguous()
    present = kinds[edges[0], edges[1]] == PRESENT_EDGE
    added = (kinds == ADDED).view(-1).nonzero().view(-1)
    form = fused_pair_list if compiled else pair_list
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_list, "compiled_form", lambda _: form if compiled else None)
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            found = PairList.of(edges, present, added, num_nodes, torch.device("cpu"))
        finally:
            torch.set_num_threads(before)
    wanted = torch.maximum(kinds, kinds.t())
    matrix = torch.full_like(wanted, NOTHING)
    matrix[found.listed.row, found.listed.col] = found.kind.long()
    assert torch.equal(matrix, wanted)
    assert found.listed.nnz == int((wanted != NOTHING).sum())
    drawn = (wanted > ABSENT_EDGE).nonzero()
    assert torch.equal(torch.stack([found.drawn.row, found.drawn.col], dim=1), drawn)
    # Ascending, as every pattern is.
    places = found.listed.row * num_nodes + found.listed.col
    assert bool((places.diff() > 0).all())
