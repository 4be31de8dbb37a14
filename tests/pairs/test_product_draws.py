"""Pairs drawn by their inner product: frequencies, independence, both forms, any threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.stats
import torch
from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.graph.sparse import Pattern
from gaug.pairs import tile_work
from gaug.pairs.product_draws import draw_pairs
from gaug.pairs.random_columns import RandomColumns

NUM_NODES = 14


@pytest.fixture(params=["eager", "fused"])
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "fused":
        pytest.importorskip("numba", reason="needs numba: pip install 'gaug[fast]'")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "eager":
            patch.setattr(tile_work, "_compiled", lambda: None)
        yield request.param


def embeddings(num_nodes: int = NUM_NODES, width: int = 4, seed: int = 0) -> Tensor:
    """Not negative, the largest norm 1; two nodes are alike, so that a probability may be 1."""
    z = torch.randn(num_nodes, width, generator=torch.Generator().manual_seed(seed)).relu()
    z = z / z.norm(dim=1).max()
    z[1] = z[int(z.norm(dim=1).argmax())]
    return z


def some_edges(num_nodes: int = NUM_NODES) -> Pattern:
    upper = torch.rand(num_nodes, num_nodes, generator=torch.Generator().manual_seed(1)) < 0.2
    return Adjacency.of_pairs(upper.triu(1).nonzero().t(), num_nodes).pattern


def no_edges(num_nodes: int = NUM_NODES) -> Pattern:
    return Adjacency.of_pairs(torch.empty(2, 0, dtype=torch.long), num_nodes).pattern


@pytest.mark.parametrize("scale", [0.1, 0.45, 0.8, 1.0])
def test_each_pair_is_drawn_as_often_as_its_probability_says(form: str, scale: float) -> None:
    """By exact binomial tests; sound draws fail in all 91 together with a chance below 1e-4."""
    z, edges, draws = embeddings(), some_edges(), 1500
    counts = np.zeros(NUM_NODES**2, dtype=int)
    for seed in range(draws):
        counts[draw_pairs(z, scale, seed, edges).numpy()] += 1
    p = (scale * (z.double() @ z.double().t())).clamp(max=1 - 1e-6).triu(1)
    p[edges.row, edges.col] = 0
    for count, chance in zip(counts.tolist(), p.flatten().tolist(), strict=True):
        assert scipy.stats.binomtest(count, draws, chance).pvalue > 1e-4 / 91


def test_pairs_are_drawn_independently(form: str) -> None:
    """Their number varies as a sum of independent variables; chi-squared, 1e-4."""
    z, draws = embeddings(), 1500
    p = (0.9 * z.double() @ z.double().t()).triu(1)
    counts = [draw_pairs(z, 0.9, seed, no_edges()).numel() for seed in range(draws)]
    ratio = float(np.var(counts, ddof=1)) * (draws - 1) / float((p * (1 - p)).sum())
    low, high = (float(scipy.stats.chi2.ppf(q, draws - 1)) for q in (0.5e-4, 1 - 0.5e-4))
    assert low < ratio < high


@pytest.mark.parametrize("scale", [0.02, 0.7, 1.0])
def test_the_forms_draw_the_same_pairs(scale: float) -> None:
    pytest.importorskip("numba", reason="needs numba: pip install 'gaug[fast]'")
    z, edges = embeddings(300, 7), some_edges(300)
    for seed in range(20):
        fused = draw_pairs(z, scale, seed, edges)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tile_work, "_compiled", lambda: None)
            eager = draw_pairs(z, scale, seed, edges)
        assert torch.equal(fused, eager)
        assert fused.numel() > 0


def test_a_draw_depends_on_the_seed_and_not_on_the_threads(form: str) -> None:
    z, edges = embeddings(200), some_edges(200)
    before, draws = torch.get_num_threads(), []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        draws.append(draw_pairs(z, 0.5, 7, edges))
    torch.set_num_threads(before)
    assert torch.equal(*draws)
    assert not torch.equal(draws[0], draw_pairs(z, 0.5, 8, edges))


def test_pairs_ascend_without_repetition_self_loops_and_excluded_pairs(form: str) -> None:
    z, edges = embeddings(100), some_edges(100)
    keys = draw_pairs(z, 1.0, 0, edges)
    small, large = keys // 100, keys % 100
    assert bool((keys.diff() > 0).all())
    assert bool((small < large).all())
    assert not bool(torch.isin(keys, edges.row * 100 + edges.col).any())


@pytest.mark.parametrize("z", [torch.zeros(5, 2), torch.full((5, 2), torch.nan), torch.ones(1, 2)])
def test_where_nothing_can_be_drawn_nothing_is(form: str, z: Tensor) -> None:
    assert draw_pairs(z, 0.5, 0, no_edges(z.size(0))).numel() == 0
    assert draw_pairs(embeddings(), 0.0, 0, no_edges()).numel() == 0


def test_no_stream_is_that_of_the_columns_of_the_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are seeded by the same number; zeros at the end of a seed do not count."""
    states: list[tuple[int, ...]] = []
    new = np.random.default_rng

    def watched(seed: int | list[int]) -> np.random.Generator:
        states.append(tuple(np.random.SeedSequence(seed).generate_state(4).tolist()))
        return new(seed)

    monkeypatch.setattr(np.random, "default_rng", watched)
    for seed in (0, 5, 1 << 61):
        draw_pairs(embeddings(), 1.0, seed, no_edges())
        RandomColumns(NUM_NODES, 4, seed, torch.device("cpu"))
    assert len(states) > 3 * 4
    assert len(set(states)) == len(states)


def test_pairs_that_are_excluded_are_never_drawn_among_many(form: str) -> None:
    """Every second pair of 60 alike nodes is excluded, and all others are nearly certain."""
    upper = torch.ones(60, 60).triu(1).nonzero().t()
    excluded = Adjacency.of_pairs(upper[:, ::2], 60).pattern
    drawn = draw_pairs(torch.ones(60, 1), 1.0, 3, excluded)
    others = upper[0, 1::2] * 60 + upper[1, 1::2]
    assert set(drawn.tolist()) <= set(others.tolist())
    assert drawn.numel() > 0.99 * others.numel()
