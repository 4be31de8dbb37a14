"""What every executor promises, in this process, over workers and on a cluster."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from gaug.errors import ConfigError, TrainingError
from gaug.runs.executor import Executor, Job, Tell, ThisProcess
from gaug.runs.worker_processes import WorkerProcesses
from gaug.seeding import run_seed
from tests.runs.endless import Endless

EPOCHS = 4
WORKERS = 2
ARRIVED = threading.Event()


@dataclass(frozen=True)
class Drawing:
    """A job like a training: a few epochs of arithmetic on shared and on random numbers."""

    shared: torch.Tensor
    run: int

    def __call__(self, tell: Tell) -> list[float]:
        generator = torch.Generator().manual_seed(run_seed(0, self.run))
        values = self.shared
        for epoch in range(1, EPOCHS + 1):
            values = torch.tanh(self.shared @ values + torch.rand(8, 8, generator=generator))
            tell(epoch / EPOCHS)
        return values.flatten().tolist()


@dataclass(frozen=True)
class Raising:
    """Raises an error in run 1."""

    run: int
    error: type[Exception] = ZeroDivisionError

    def __call__(self, tell: Tell) -> int:
        if self.run == 1:
            raise self.error(f"run {self.run}")
        return self.run


@dataclass(frozen=True)
class Dying:
    """Ends the process that it is done in."""

    def __call__(self, tell: Tell) -> int:
        os._exit(1)


@dataclass(frozen=True)
class Held:
    """Takes a tensor along."""

    shared: torch.Tensor

    def __call__(self, tell: Tell) -> int:
        return self.shared.numel()


@dataclass(frozen=True)
class After:
    """Is done once a file is there."""

    file: Path

    def __call__(self, tell: Tell) -> bool:
        patience = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < patience:
            tell(0.0)
        return self.file.exists()


@dataclass(frozen=True)
class Together:
    """Is done once as many of its kind as there are workers are under way; takes some memory."""

    folder: Path
    run: int
    memory: int = 1_000_000

    def __call__(self, tell: Tell) -> bool:
        (self.folder / str(self.run)).touch()
        patience = time.monotonic() + 30
        while len(list(self.folder.iterdir())) < WORKERS and time.monotonic() < patience:
            tell(0.0)
        return len(list(self.folder.iterdir())) == WORKERS


class Arriving:
    """Its result says when it is back in the process that asked for it."""

    def __call__(self, tell: Tell) -> Arriving:
        return self

    def __reduce__(self) -> Any:
        return _arrived, (os.getpid(),)


def _arrived(sender: int) -> Arriving:
    if sender != os.getpid():
        ARRIVED.set()
    return Arriving()


@dataclass(frozen=True)
class Attached:
    """Carries anything."""

    thing: Any

    def __call__(self, tell: Tell) -> int:
        return 1


def drawings(runs: list[int]) -> list[Drawing]:
    shared = torch.linspace(-1, 1, 64).reshape(8, 8)
    return [Drawing(shared, run) for run in runs]


def run_of(job: Job[Any]) -> int:
    assert isinstance(job, Drawing | Raising)
    return job.run


@pytest.fixture(
    params=["this process", "workers", pytest.param("cluster", marks=pytest.mark.cluster)]
)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "cluster":
        yield request.getfixturevalue("on_cluster")
        return
    made = ThisProcess() if request.param == "this process" else WorkerProcesses(WORKERS)
    with made as opened:
        yield opened


@pytest.fixture
def workers() -> Iterator[WorkerProcesses]:
    made = WorkerProcesses(WORKERS)
    with made:
        yield made


# The contract.


def test_each_job_comes_back_once_with_its_result(executor: Executor):
    jobs = drawings([5, 2, 9, 0])
    expected = {id(job): job(lambda *_: None) for job in jobs}
    results = list(executor.run(jobs))
    assert {id(job): result for job, result in results} == expected
    assert len(results) == 4


def test_progress_adds_up_the_shares_and_ends_when_nothing_is_under_way(executor: Executor):
    moves: list[float] = []
    done = 0
    jobs = executor.run(drawings(list(range(4))), lambda share: moves.append(done + share))
    for _ in jobs:
        done += 1
    assert moves == sorted(moves)
    assert moves[-1] == 4


def test_an_error_on_purpose_is_handed_back_and_the_others_go_on(executor: Executor):
    results = executor.run([Raising(run, TrainingError) for run in range(4)])
    found = {run_of(job): result for job, result in results}
    assert isinstance(found[1], TrainingError)
    assert str(found[1]) == "run 1"
    assert [found[run] for run in (0, 2, 3)] == [0, 2, 3]


def test_any_other_error_passes_and_the_executor_can_be_used_again(executor: Executor):
    with pytest.raises(ZeroDivisionError, match="run 1"):
        list(executor.run([Raising(0), Raising(1), Raising(2)]))
    again = executor.run([Raising(0), Raising(7)])
    assert {run_of(job): result for job, result in again} == {0: 0, 7: 7}


def test_who_leaves_the_loop_early_can_use_the_executor_again(executor: Executor):
    results = executor.run(Raising(run) for run in itertools.cycle([0, 2, 3]))
    next(results)
    next(results)
    assert isinstance(results, Generator)
    results.close()
    for _ in range(2):
        again = list(executor.run(drawings([1, 2])))
        assert sorted(run_of(job) for job, _ in again) == [1, 2]


def test_jobs_are_taken_when_there_is_room_for_one(executor: Executor):
    taken: list[int] = []

    def jobs() -> Iterator[Raising]:
        for run in itertools.count(2):  # without an end
            taken.append(run)
            yield Raising(run)

    room = 1 if isinstance(executor, ThisProcess) else WORKERS + 1
    results = executor.run(jobs())
    for done in range(1, 6):
        next(results)
        assert len(taken) <= done - 1 + room
    assert isinstance(results, Generator)
    results.close()


def test_no_jobs_give_no_results(executor: Executor):
    jobs: list[Job[int]] = []
    assert list(executor.run(jobs)) == []


def test_an_error_while_a_job_is_made_passes_and_leaves_nothing_under_way(executor: Executor):
    def jobs() -> Iterator[Raising]:
        yield Raising(0)
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        list(executor.run(jobs()))
    assert [result for _, result in executor.run([Raising(3)])] == [3]


# This process.


def test_in_one_process_results_come_in_order_and_progress_moves_by_epochs():
    moves: list[float] = []
    jobs = drawings([5, 2, 9])
    assert [job for job, _ in ThisProcess().run(jobs, moves.append)] == jobs
    assert moves[:5] == [0.25, 0.5, 0.75, 1.0, 0.0]


def test_an_error_of_a_job_passes_after_the_jobs_before_it():
    results = ThisProcess().run([Raising(0), Raising(1), Raising(2)])
    assert next(results)[1] == 0
    with pytest.raises(ZeroDivisionError, match="run 1"):
        next(results)


# Workers.


def test_leaving_the_loop_ends_the_jobs_under_way(workers: WorkerProcesses, tmp_path: Path):
    endless = Endless(tmp_path)
    jobs: list[Job[str | bool]] = [endless, After(endless.begun)]
    results = workers.run(jobs)
    job, begun = next(results)
    assert begun is True
    assert isinstance(job, After)
    assert endless.is_under_way
    assert isinstance(results, Generator)
    results.close()
    assert not endless.is_under_way
    assert len(list(workers.run(drawings([1, 2, 3])))) == 3


def test_ctrl_c_while_a_job_is_made_hands_on_what_is_finished(workers: WorkerProcesses):
    def jobs() -> Iterator[Arriving]:
        yield Arriving()
        assert ARRIVED.wait(60)
        raise KeyboardInterrupt

    results = workers.run(jobs())
    _, result = next(results)
    assert isinstance(result, Arriving)
    with pytest.raises(KeyboardInterrupt):
        next(results)


def test_closing_ends_the_processes_and_another_run_starts_new_ones(workers: WorkerProcesses):
    assert len(list(workers.run(drawings([1])))) == 1
    workers.close()
    workers.close()
    assert len(list(workers.run(drawings([1, 2])))) == 2


def test_a_worker_that_dies_is_an_error_with_a_remedy(workers: WorkerProcesses):
    with pytest.raises(TrainingError, match="fewer workers") as caught:
        list(workers.run([Dying(), Dying()]))
    assert "\n" not in str(caught.value)
    assert len(list(workers.run(drawings([1, 2])))) == 2


def test_jobs_run_side_by_side_while_this_process_grows(workers: WorkerProcesses, tmp_path: Path):
    grown: list[bytearray] = []

    def jobs() -> Iterator[Together]:
        for run in range(WORKERS):
            yield Together(tmp_path, run)
            grown.append(bytearray(os.urandom(1)) * 30_000_000)

    assert [together for _, together in workers.run(jobs())] == [True, True]


@pytest.mark.parametrize("thing", [lambda: 1, threading.Lock()], ids=["a lambda", "a lock"])
def test_what_cannot_be_sent_to_a_worker_is_told_with_a_remedy(
    workers: WorkerProcesses, thing: Any
):
    with pytest.raises(ConfigError, match=r"cannot be sent to a worker process.*use one worker"):
        list(workers.run([Attached(1), Attached(thing)]))
    assert [result for _, result in ThisProcess().run([Attached(thing)])] == [1]
    assert [result for _, result in workers.run([Attached(2)])] == [1]


def shared_bytes() -> int:
    """Bytes of this process in shared memory that PyTorch made."""
    found = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        if "/torch_" in line:
            start, stop = line.split()[0].split("-")
            found += int(stop, 16) - int(start, 16)
    return found


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_what_was_shared_with_workers_is_given_back_when_they_are_closed() -> None:
    shared = torch.zeros(5_000_000, dtype=torch.uint8)
    before = shared_bytes()
    with WorkerProcesses(1) as executor:
        list(executor.run([Held(shared)]))
        assert shared_bytes() >= before + shared.numel()
    assert shared_bytes() <= before
    assert int(shared.sum()) == 0  # it is still here
