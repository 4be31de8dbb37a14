"""Attention to all nodes, block by block, against attention over a list of all pairs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import gaug.graph.attention
from gaug.graph.attention import attend, attend_to_all
from gaug.graph.sparse import Pattern

HEADS, NODES, WIDTH = 2, 7, 3


def inputs(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What is attended to, both parts of the logits, and a weight for every pair."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(HEADS, NODES, WIDTH), (HEADS, NODES), (HEADS, NODES)]
    parts = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    z, target, source = (part.requires_grad_() for part in parts)
    weights = torch.rand(NODES, NODES, generator=generator, dtype=torch.float64) + 0.1
    return z, target, source, weights.requires_grad_()


def listed(z: Tensor, target: Tensor, source: Tensor, weights: Tensor) -> Tensor:
    """Every node lists all nodes."""
    crow = torch.arange(0, NODES * NODES + 1, NODES)
    pattern = Pattern(crow, torch.arange(NODES).repeat(NODES), NODES, symmetric=True)
    return attend(pattern, z, target, source, weights.flatten())


@pytest.fixture(params=[1, 3, 100])
def rows_of_a_block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Nodes that attend at a time: one, some, with fewer in the last block, or all."""
    rows: int = request.param
    monkeypatch.setattr(gaug.graph.attention, "_BLOCK", rows * HEADS * NODES)
    return rows


def test_attention_to_all_is_that_over_a_list_of_all_pairs(rows_of_a_block: int) -> None:
    parts = inputs()
    z, target, source, weights = parts
    results = []
    for output in (listed(*parts), attend_to_all(lambda rows: weights[rows], z, target, source)):
        grads = torch.autograd.grad((output**3).sum(), parts)
        results.append([output, *grads])
    torch.testing.assert_close(results[0], results[1])


def test_a_weight_of_0_takes_a_node_away(rows_of_a_block: int) -> None:
    z, target, source, weights = inputs()
    weights = weights.detach()
    weights[:, 2] = 0
    weights[2, 2] = 1
    without = attend_to_all(lambda rows: weights[rows], z, target, source)
    not_2 = torch.arange(NODES) != 2
    gradient = torch.autograd.grad(without[:, not_2].sum(), z)[0]
    assert bool((gradient[:, 2] == 0).all())
    moved = z.detach().clone()
    moved[:, 2] += 100
    changed = attend_to_all(lambda rows: weights[rows], moved, target, source)
    torch.testing.assert_close(without[:, not_2], changed[:, not_2])
    assert bool((changed[:, 2] > without[:, 2] + 1).all())  # it sees itself


def test_the_backward_pass_drops_what_the_forward_pass_dropped(rows_of_a_block: int) -> None:
    parts = z, target, source, weights = inputs()

    def attend_with_dropout(z: Tensor, target: Tensor, source: Tensor, weights: Tensor) -> Tensor:
        torch.manual_seed(3)
        return attend_to_all(lambda rows: weights[rows], z, target, source, dropout=0.5)

    with torch.random.fork_rng(devices=[]):
        kept = attend_with_dropout(*parts)
        assert torch.autograd.gradcheck(attend_with_dropout, parts)
    whole = attend_to_all(lambda rows: weights[rows], z, target, source)
    assert not torch.allclose(kept, whole)


def test_without_gradients_heads_of_large_graphs_attend_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = listed(*inputs())
    heads_at_once: list[int] = []
    repeat = Pattern.repeat

    def watched(pattern: Pattern, times: int) -> Pattern:
        heads_at_once.append(times)
        return repeat(pattern, times)

    monkeypatch.setattr(gaug.graph.attention, "HEADS_TOGETHER", HEADS * NODES * NODES - 1)
    monkeypatch.setattr(Pattern, "repeat", watched)
    with torch.no_grad():
        one_by_one = listed(*inputs())
    assert heads_at_once == [1] * HEADS
    assert torch.equal(one_by_one, together)
    listed(*inputs())  # all of them are needed for a gradient
    assert heads_at_once[HEADS:] == [HEADS]
