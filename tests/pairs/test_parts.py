"""A ranking in parts finds the same as one in a single part, in whatever order they are done."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaug.errors import TrainingError
from gaug.pairs import parts
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.parts import OnShare, Part, equal_parts, pairs_before, parts_done_by
from gaug.pairs.ranking import top_non_edges, top_non_edges_per_node
from tests.pairs.test_ranking import DenseScores, NoisyScores, random_edges, tied_scores


class Elsewhere:
    """Does parts some at a time, the last first, as other machines might."""

    def __init__(self, at_once: int = 3) -> None:
        self.at_once = at_once
        self.done: list[Part] = []

    def __call__(self, jobs: Iterable[Part], tell: OnShare) -> Iterator[tuple[Part, Any]]:
        jobs = iter(jobs)
        while begun := list(itertools.islice(jobs, self.at_once)):
            for part in reversed(begun):
                self.done.append(part)
                yield part, part(lambda share: tell(share))
                tell(0.0)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PAIRS_IN_PART", 20)


@pytest.mark.parametrize("rank", [top_non_edges, top_non_edges_per_node])
@pytest.mark.parametrize("kind", [DenseScores, NoisyScores])
@pytest.mark.parametrize("among_first", [None, 7])
@pytest.mark.parametrize("seed", range(5))
def test_parts_find_what_one_part_finds(
    small_parts: None, rank: Any, kind: type[DenseScores], among_first: int | None, seed: int
) -> None:
    nodes, elsewhere = 25, Elsewhere()
    scores, edges = kind(tied_scores(nodes, seed)), random_edges(nodes, 0.2, seed)
    options = {"among_first": among_first, "block_elements": 30}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PAIRS_IN_PART", 1 << 30)
        whole = rank(scores, edges, nodes, 40, **options)
    here = rank(scores, edges, nodes, 40, **options)
    with parts_done_by(elsewhere):
        there = rank(scores, edges, nodes, 40, **options)
    assert len(elsewhere.done) > 3
    for found in (here, there):
        assert torch.equal(found.pairs, whole.pairs)
        assert torch.equal(found.logits, whole.logits)


def test_later_parts_know_what_a_pair_must_reach(small_parts: None) -> None:
    elsewhere = Elsewhere(at_once=1)
    embeddings = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    with parts_done_by(elsewhere):
        found = top_non_edges(InnerProductScores(embeddings), random_edges(60, 0.1, 0), 60, 30)
    floors = [part.floor for part in elsewhere.done]
    assert floors[0] == -float("inf")
    assert floors == sorted(floors)
    assert floors[-1] <= float(found.logits[-1])
    # So they give back few others: without it, each gives 30, or all it has.
    last = elsewhere.done[-10:]
    assert sum(len(part(lambda share: None)[0]) for part in last) < 5 * len(last)


def test_progress_rises_to_one_over_all_parts(small_parts: None) -> None:
    shares: list[float] = []
    scores = DenseScores(tied_scores(25, 0))
    with parts_done_by(Elsewhere(at_once=1)):
        top_non_edges(scores, random_edges(25, 0.2, 0), 25, 9, on_share=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_an_error_of_a_part_is_that_of_the_ranking(small_parts: None) -> None:
    matrix = tied_scores(25, 0)
    matrix[3, 20] = float("nan")

    def failing(jobs: Iterable[Part], tell: OnShare) -> Iterator[tuple[Part, Any]]:
        for part in jobs:
            try:
                yield part, part(tell)
            except TrainingError as error:
                yield part, error

    with parts_done_by(failing), pytest.raises(TrainingError, match="not numbers"):
        top_non_edges(DenseScores(matrix), random_edges(25, 0.1, 0), 25, 9)


def test_a_ranking_of_one_part_stays_here() -> None:
    elsewhere = Elsewhere()
    with parts_done_by(elsewhere):
        top_non_edges(DenseScores(tied_scores(25, 0)), random_edges(25, 0.2, 0), 25, 9)
    assert not elsewhere.done


@given(
    nodes=st.integers(1, 3000),
    share=st.floats(0.01, 1),
    triangle=st.booleans(),
    pairs=st.integers(1, 10**5),
)
def test_parts_have_each_row_once_and_about_as_many_pairs(
    nodes: int, share: float, triangle: bool, pairs: int
) -> None:
    rows = max(1, int(share * nodes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PAIRS_IN_PART", pairs)
        found = equal_parts(nodes, rows, triangle=triangle)
    assert [row for part in found for row in part] == list(range(rows))

    def size(part: range) -> int:
        if triangle:
            return pairs_before(part.stop, nodes) - pairs_before(part.start, nodes)
        return len(part) * nodes

    total = sum(map(size, found))
    most = max(2 * pairs, 2 * total / 4096)
    assert max(map(size, found)) <= most + 2 * nodes  # a row is not divided


@pytest.mark.parametrize("nodes", [1, 2, 7])
def test_pairs_before_a_row_are_counted_on_and_above_the_diagonal(nodes: int) -> None:
    for row in range(nodes + 1):
        assert pairs_before(row, nodes) == int(torch.ones(nodes, nodes).triu()[:row].sum())


_MEASURED = """
import ctypes, json, sys
import psutil, torch
from gaug.pairs.inner_product import InnerProductScores
from gaug.pairs.parts import Part
from gaug.runs.cost import measured
degree, count, rows, per_node = map(int, sys.argv[1:])
nodes = 20_000
scores = InnerProductScores(torch.randn(nodes, 16, generator=torch.Generator().manual_seed(0)))
first = torch.arange(nodes - degree).repeat_interleave(degree)
edges = torch.stack([first, first + torch.arange(1, degree + 1).repeat(nodes - degree)])
least = Part(scores, edges[:, :1], nodes, 1, range(100), bool(per_node))
part = Part(scores, edges, nodes, count, range(rows), bool(per_node))
peaks = []
for one in (least, part):
    ctypes.CDLL(None).malloc_trim(0)
    held = psutil.Process().memory_info().rss
    with measured() as cost:
        one(lambda share: None)
    peaks.append(cost.peak_memory_mb * 1e6 - held)
print(json.dumps([*peaks, part.memory, part.memory - least.memory]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a part is measured on Linux only")
@pytest.mark.parametrize(
    ("degree", "count", "rows", "per_node"),
    [(100, 10, 100, 0), (1, 1_000_000, 2000, 0), (100, 1, 100, 1), (1, 500, 1000, 1)],
    ids=["edges", "pairs", "edges where nodes offer", "offers"],
)
def test_a_part_takes_no_more_than_its_estimate_and_not_much_less(
    degree: int, count: int, rows: int, per_node: int
) -> None:
    """Also for what depends on edges and pairs, which is small beside what is fixed."""
    numbers = [str(number) for number in (degree, count, rows, per_node)]
    command = [sys.executable, "-c", _MEASURED, *numbers]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    least, taken, whole, variable = json.loads(found.stdout)
    assert taken <= whole
    assert taken - least <= variable <= 4 * (taken - least)
