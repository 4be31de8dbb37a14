from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
import torch

from gaug.errors import TrainingError
from gaug.runs.executors import repeat
from gaug.seeding import run_seed
from gaug.training.loop import OnEpoch


@dataclass(frozen=True)
class Drawing:
    """A job like a training: a few epochs of arithmetic on shared and on random numbers."""

    shared: torch.Tensor
    epochs: int = 4

    def __call__(self, run: int, on_epoch: OnEpoch) -> tuple[list[float], int]:
        generator = torch.Generator().manual_seed(run_seed(0, run))
        values = self.shared
        for epoch in range(1, self.epochs + 1):
            values = torch.tanh(self.shared @ values + torch.rand(8, 8, generator=generator))
            on_epoch(epoch)
        return values.flatten().tolist(), torch.get_num_threads()


@dataclass(frozen=True)
class Raising:
    epochs: int = 1

    def __call__(self, run: int, on_epoch: OnEpoch) -> int:
        if run == 1:
            raise ZeroDivisionError(f"run {run}")
        return run


@dataclass(frozen=True)
class Dying:
    epochs: int = 1

    def __call__(self, run: int, on_epoch: OnEpoch) -> int:
        os._exit(1)


def drawing() -> Drawing:
    return Drawing(torch.linspace(-1, 1, 64).reshape(8, 8))


def test_seeds_of_runs_are_distinct_over_seeds_and_runs():
    seeds = {run_seed(seed, run) for seed in range(50) for run in range(50)}
    assert len(seeds) == 2500


def test_seeds_of_runs_are_stable_and_fit_a_generator():
    for run in range(100):
        seed = run_seed(7, run)
        assert seed == run_seed(7, run)
        assert 0 <= seed < 2**63
        torch.Generator().manual_seed(seed)


def test_results_come_with_their_run_numbers_and_in_order_in_one_process():
    results = list(repeat(drawing(), [5, 2, 9]))
    assert [run for run, _ in results] == [5, 2, 9]
    alone = dict(results)
    for run in (9, 5):
        assert list(repeat(drawing(), [run])) == [(run, alone[run])]


def test_results_and_progress_hold_whatever_the_number_of_workers():
    moves: dict[int, list[float]] = {1: [], 2: []}
    results = {
        workers: dict(
            repeat(drawing(), range(4), workers=workers, on_progress=moves[workers].append)
        )
        for workers in (1, 2)
    }
    assert results[1] == results[2]
    assert set(results[1]) == {0, 1, 2, 3}
    for seen in moves.values():
        assert seen == sorted(seen)
        assert seen[-1] == 4
    # A run of four epochs moves by quarters.
    assert moves[1][:4] == [0.25, 0.5, 0.75, 1.0]


def test_a_run_has_the_threads_asked_for_and_the_caller_keeps_its_own():
    before = torch.get_num_threads()
    ((_, (_, threads)),) = repeat(drawing(), [0], threads=before + 1)
    assert threads == before + 1
    assert torch.get_num_threads() == before


def test_a_run_that_raises_gives_back_the_threads_of_the_caller():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        list(repeat(Raising(), [1], threads=before + 1))
    assert torch.get_num_threads() == before


def test_an_error_of_a_run_passes_after_the_runs_before_it():
    results = repeat(Raising(), [0, 1, 2])
    assert next(results) == (0, 0)
    with pytest.raises(ZeroDivisionError, match="run 1"):
        next(results)


def test_an_error_of_a_run_in_a_worker_passes():
    with pytest.raises(ZeroDivisionError, match="run 1"):
        list(repeat(Raising(), [0, 1], workers=2))


def test_a_worker_that_dies_is_an_error_with_a_remedy():
    with pytest.raises(TrainingError, match="fewer workers") as caught:
        list(repeat(Dying(), [0, 1], workers=2))
    assert "\n" not in str(caught.value)


def test_no_runs_give_no_results():
    assert list(repeat(drawing(), [], workers=2)) == []
