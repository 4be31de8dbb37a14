"""Repeated runs of a plan: what a run is, what is taken over, and what an interruption leaves."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from gaug import NoAugmentation
from gaug.cli.main import main
from gaug.errors import ConfigError, DataError, GaugError, StoreError, TrainingError
from gaug.graph.adjacency import Adjacency
from gaug.provenance import software_versions
from gaug.runs.checkpoints import Checkpoints
from gaug.runs.execute import execute, execute_all
from gaug.runs.execution import Request
from gaug.runs.executor import ThisProcess
from gaug.runs.executors import local_executor
from gaug.runs.graphs import Graphs, check_device
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.runs.worker_processes import WorkerProcesses
from gaug.training.batch import Batch
from gaug.training.hooks import AugmentedRun, Round, RoundResult, Visible
from tests.known import known

SETTINGS = ("train_fraction=0.2", "epochs=5")


def karate(*settings: str, **options: Any) -> Plan:
    return Plan.of("karate", split="stratified", settings=[*SETTINGS, *settings], **options)


def record_of(result: RunRecord | GaugError) -> RunRecord:
    assert isinstance(result, RunRecord), result
    return result


def outcome(record: RunRecord) -> tuple[Any, ...]:
    """What a run came to, without what it cost."""
    return record.run, record.val_score, record.test_score, record.best_epoch, record.history


# What a run is.


def test_a_run_is_the_same_whatever_the_number_of_runs_and_workers():
    plan = karate("method.drop_fraction=0.3", method="dropedge")
    one = execute(plan, runs=1, keep_history=True)
    three = execute(plan, runs=3, keep_history=True)
    with WorkerProcesses(2) as executor:
        spread_out = execute(plan, runs=3, executor=executor, keep_history=True)
    assert [outcome(record) for record in three] == [outcome(record) for record in spread_out]
    assert outcome(one[0]) == outcome(three[0])
    assert [record.run for record in spread_out] == [0, 1, 2]
    assert [record.identity for record in three] == [record.identity for record in spread_out]


def test_runs_differ_from_one_another_and_with_the_seed():
    records = execute(karate(), runs=3, keep_history=True)
    records += execute(karate(seed=1), runs=3, keep_history=True)
    losses = [tuple(row["train_loss"] for row in known(record.history)) for record in records]
    assert len(set(losses)) == 6
    assert len({record.identity for record in records}) == 6


def test_all_runs_share_one_split_and_one_graph():
    records = execute(karate(), runs=3)
    assert len({(record.split, record.split_hash, record.graph_hash) for record in records}) == 1


def test_a_record_says_what_was_asked_and_by_which_software(store):
    plan = karate("model.hidden=16", "patience=3", model="gsage", method="dropedge", seed=4)
    (record,) = execute(plan, runs=1, store=store)
    (stored,) = store.all()
    for kept in (record, stored):
        assert (kept.graph, kept.model, kept.method) == ("karate", "gsage", "dropedge")
        assert kept.split == "stratified-0"
        assert kept.protocol == "validation"
        assert (kept.seed, kept.run) == (4, 0)
        assert kept.config["model"]["hidden"] == 16
        assert kept.config["training"]["patience"] == 3
        assert kept.config["split"]["train_fraction"] == 0.2
        assert kept.config == plan.config
        assert kept.versions == software_versions()
        assert 1 <= kept.best_epoch <= kept.epochs <= 5
        assert kept.seconds > 0
        assert kept.peak_memory_mb > 0
    assert {"gaug", "torch", "torch_geometric", "numpy", "python"} <= set(record.versions)


def test_the_history_has_a_row_an_epoch_where_asked_and_none_else(store):
    execute(karate(), runs=1, store=store, keep_history=True)
    execute(karate(), runs=1, store=store)
    with_history, without = store.all()
    assert [row["epoch"] for row in with_history.history] == [1, 2, 3, 4, 5]
    assert all(math.isfinite(row["train_loss"]) for row in with_history.history)
    best = max(row["val_score"] for row in with_history.history)
    assert with_history.val_score == best
    assert with_history.history[with_history.best_epoch - 1]["val_score"] == best
    assert without.history is None


def test_the_graph_s_own_split_is_the_default():
    plan = Plan.of("karate", settings=["train_fraction=0.5", "epochs=1"])
    (record,) = execute(plan, runs=1)
    assert record.split == "random-0"


# Taking over what is on record.


def test_resuming_takes_over_finished_runs_and_does_only_the_missing_ones(store, trained):
    first = execute(karate(), runs=2, store=store)
    assert len(trained) == 2
    all_four = execute(karate(), runs=4, store=store, resume=True)
    assert len(trained) == len(set(trained)) == 4
    assert [record.run for record in all_four] == [0, 1, 2, 3]
    assert [record.id for record in all_four[:2]] == [record.id for record in first]
    again = execute(karate(), runs=4, store=store, resume=True)
    assert len(trained) == 4
    assert [record.id for record in again] == [record.id for record in all_four]
    assert len(store.all()) == 4


def test_resuming_fills_a_gap(store, trained):
    records = execute(karate(), runs=3)
    for record in (records[0], records[2]):
        store.add(record)
    del trained[:]
    filled = execute(karate(), runs=3, store=store, resume=True)
    assert len(trained) == 1
    assert [outcome(record) for record in filled] == [outcome(record) for record in records]
    assert [record.run for record in store.all()] == [0, 2, 1]


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (["epochs=6"], {}),
        (["learning_rate=0.02"], {}),
        (["train_fraction=0.3"], {}),
        (["split_seed=1"], {}),
        (["feature_scaling=columns"], {}),
        ([], {"seed": 1}),
        ([], {"threads": 2}),
        ([], {"model": "mlp"}),
        ([], {"method": "dropedge"}),
    ],
)
def test_resuming_takes_over_nothing_of_another_plan(store, trained, settings, options):
    execute(karate(), runs=1, store=store)
    execute(karate(*settings, **options), runs=1, store=store, resume=True)
    assert len(trained) == 2


def test_without_resuming_every_run_is_done_and_recorded_anew(store, trained):
    for _ in range(2):
        execute(karate(), runs=2, store=store)
    assert len(trained) == 4
    assert [record.run for record in store.all()] == [0, 1, 0, 1]


def test_resuming_with_history_does_runs_without_one_again(store, trained):
    execute(karate(), runs=1, store=store)
    (record,) = execute(karate(), runs=1, store=store, resume=True, keep_history=True)
    assert len(trained) == 2
    assert record.history is not None
    assert len(record.history) == 5


def test_progress_counts_the_runs_that_were_taken_over(store):
    execute(karate(), runs=2, store=store)
    moves: list[float] = []
    execute(karate(), runs=3, store=store, resume=True, on_progress=moves.append)
    assert moves == sorted(moves)
    assert moves[0] == 2
    assert moves[-1] == 3


@pytest.mark.parametrize(
    ("method", "settings", "epochs"),
    [
        ("none", [], 5),
        ("bgcn", ["graphs=2"], 15),
        ("gaug-o", ["pretrain_classifier_epochs=3", "pretrain_predictor_epochs=2"], 10),
    ],
)
def test_progress_counts_the_epochs_of_all_rounds(method, settings, epochs):
    moves: list[float] = []
    execute(karate(*settings, method=method), runs=1, on_progress=moves.append)
    expected = [0, *(epoch / epochs for epoch in range(1, epochs + 1)), 1]
    assert moves == pytest.approx(expected)


def test_progress_of_a_method_that_may_stop_early_does_not_reach_the_end_before_it():
    moves: list[float] = []
    settings = ["rounds=3", "add_fraction=0.0", "remove_fraction=0.0"]
    execute(karate(*settings, method="adaedge"), runs=1, on_progress=moves.append)
    assert moves == pytest.approx([0, *(epoch / 20 for epoch in range(1, 6)), 1])


# Interruption.


def interrupt_after(runs: int) -> Callable[[float], None]:
    def on_progress(done: float) -> None:
        if done > runs:
            raise KeyboardInterrupt

    return on_progress


def test_an_interruption_keeps_the_finished_runs(store, trained):
    records: list[RunRecord] = []
    with pytest.raises(KeyboardInterrupt):
        execute(karate(), runs=5, store=store, on_progress=interrupt_after(2), records=records)
    assert [record.run for record in records] == [0, 1]
    assert [record.id for record in store.all()] == [record.id for record in records]
    del trained[:]
    whole = execute(karate(), runs=5, store=store, resume=True)
    assert len(trained) == 3
    assert [record.run for record in whole] == [0, 1, 2, 3, 4]


def test_a_real_ctrl_c_with_workers_keeps_finished_runs_and_leaves_no_process(
    tmp_path, monkeypatch, capfd
):
    path = tmp_path / "runs.sqlite"
    arguments = ["train", "karate", "--split", "stratified", "--set", "train_fraction=0.2"]
    arguments += ["--set", "epochs=100", "--store", str(path), "--json"]
    Store(str(path)).close()
    process = subprocess.Popen(
        [sys.executable, "-m", "gaug", *arguments, "--runs", "500", "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, which Ctrl-C reaches as a whole
    )
    try:
        while len(recorded(path)) < 5 and process.poll() is None:
            wait_a_little(process)
        os.killpg(process.pid, signal.SIGINT)
        # The workers hold the pipes too: their ends close only when no process is left.
        out, err = process.communicate(timeout=90)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    finished = recorded(path)
    assert process.returncode == 130
    assert 5 <= len(finished) < 500
    assert "Traceback" not in err
    assert f"{len(finished)} of 500 runs are finished and recorded" in err
    assert f'"runs": {len(finished)}' in out

    wanted = max(finished) + 2
    monkeypatch.setattr(
        sys, "argv", ["gaug", *arguments, "--runs", str(wanted), "--workers", "1", "--resume"]
    )
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert f'"runs": {wanted}' in capfd.readouterr().out
    resumed = recorded(path)
    assert resumed[: len(finished)] == finished
    assert sorted(resumed) == list(range(wanted))


def recorded(path: Path) -> list[int]:
    with closing(Store(str(path))) as store:
        return [record.run for record in store.all()]


def wait_a_little(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(timeout=0.1)
    except subprocess.TimeoutExpired:
        return


# What is refused.


@pytest.mark.parametrize("runs", [0, -3])
def test_no_runs_are_refused(runs, trained):
    with pytest.raises(ConfigError, match=f"runs must be at least 1, got {runs}"):
        execute(karate(), runs=runs)
    assert trained == []


def test_no_workers_are_refused():
    with pytest.raises(ConfigError, match="workers must be at least 1, got 0"):
        local_executor(0)


def test_one_worker_is_this_process_and_more_are_processes():
    assert isinstance(local_executor(1), ThisProcess)
    with local_executor(3) as executor:
        assert isinstance(executor, WorkerProcesses)
        assert executor.workers == 3


def test_a_device_that_is_not_here_is_refused_in_one_line(trained):
    with pytest.raises(ConfigError, match="There is no device 'cuda:99' here") as caught:
        execute(karate(device="cuda:99"), runs=1)
    assert "\n" not in str(caught.value)
    assert trained == []


def test_the_cpu_is_a_device():
    check_device("cpu")


def test_a_split_that_leaves_a_part_empty_is_refused_before_training(trained):
    with pytest.raises(DataError, match=r"train part .* must not be empty"):
        execute(Plan.of("karate", settings=["train_fraction=0.01"]), runs=1)
    assert trained == []


def test_a_store_that_cannot_be_written_is_refused_before_training(tmp_path, trained):
    path = tmp_path / "runs.sqlite"
    Store(str(path)).close()
    with (
        pytest.raises(StoreError, match="read-only"),
        closing(Store(f"sqlite:///file:{path}?mode=ro&uri=true")) as store,
    ):
        execute(karate(), runs=1, store=store)
    assert trained == []


class Lacking(NoAugmentation):
    """Its first run finds no memory left."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return super().start(visible, generator)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
        RuntimeError("MPS backend out of memory (MPS allocated: 18.10 GB)."),
    ],
)
def test_lack_of_memory_is_the_error_of_one_run(error):
    results = execute_all([Request(karate(method=Lacking(error)), range(2))])
    (_, first), (_, second) = results
    assert isinstance(first, TrainingError)
    assert str(first).startswith("There is not enough memory for this run.")
    assert record_of(second).run == 1


class Ending(AugmentedRun):
    """A run whose pretraining breaks: by an error, or by a loss that is not a number."""

    error: Exception | None = None

    def next_round(self, previous: RoundResult | None) -> Round | None:
        return Round(self.visible.adjacency, epochs=5, pretraining=True)

    def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
        self.epoch = epoch
        if epoch == 2 and self.error is not None:
            raise self.error
        return super().training_graph(current, batch, epoch)

    def extra_loss(self) -> torch.Tensor:
        return torch.tensor(math.nan if self.epoch == 2 else 0.0)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any], results: Any) -> None:
        pass


class EndingIn(NoAugmentation):
    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        run = Ending(visible, generator)
        run.error = self.error
        return run


@pytest.mark.parametrize(("error", "kept"), [(None, 0), (MemoryError(), 1)])
def test_a_run_that_would_break_again_leaves_no_checkpoint_and_one_without_memory_does(
    tmp_path, error, kept
):
    request = Request(karate(method=EndingIn(error)), [0])
    ((_, found),) = execute_all([request], checkpoints=Checkpoints(tmp_path / "saved", seconds=0))
    assert isinstance(found, TrainingError)
    assert len(list((tmp_path / "saved").iterdir())) == kept


# Several plans at once.


def test_runs_of_several_plans_come_one_after_the_other_each_with_its_request():
    requests = [Request(karate(), [2, 0]), Request(karate(method="dropedge"), [1])]
    results = [(request, record_of(result)) for request, result in execute_all(requests)]
    assert [(request, record.method, record.run) for request, record in results] == [
        (requests[0], "none", 2),
        (requests[0], "none", 0),
        (requests[1], "dropedge", 1),
    ]
    alone = execute(karate(), runs=3)
    assert outcome(results[0][1]) == outcome(alone[2])
    assert outcome(results[1][1]) == outcome(alone[0])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_plan_that_cannot_run_yields_its_error_once_and_the_others_go_on(store, workers):
    no_split = Plan.of("karate", settings=["train_fraction=0.01", "epochs=2"])
    breaks = karate("learning_rate=1e30", "weight_decay=1e30")
    plans = [no_split, karate(), breaks, karate(method="dropedge")]
    with local_executor(workers) as executor:
        requests = [Request(plan, range(2)) for plan in plans]
        results = list(execute_all(requests, executor=executor, store=store))
    found = {id(plan): [r for request, r in results if request.plan is plan] for plan in plans}
    (error,) = found[id(no_split)]
    assert isinstance(error, DataError)
    assert all(isinstance(one, GaugError) for one in found[id(breaks)])
    assert len(found[id(breaks)]) == 2  # each run failed by itself
    for plan in (plans[1], plans[3]):
        assert sorted(record_of(one).run for one in found[id(plan)]) == [0, 1]
    assert len(store.all()) == 4


def test_a_single_plan_that_cannot_run_raises(trained):
    with pytest.raises(DataError, match="must not be empty"):
        execute(Plan.of("karate", settings=["train_fraction=0.01"]), runs=1)
    assert trained == []


def test_many_plans_take_over_what_is_on_record_whatever_their_order(store, trained):
    plain, dropped = karate(), karate(method="dropedge")
    execute(dropped, runs=1, store=store)
    del trained[:]
    requests = [Request(plain, range(1)), Request(dropped, range(2)), Request(plain, range(1))]
    results = list(execute_all(requests, store=store))
    assert len(results) == 4
    assert len(trained) == 2  # the last request finds what the first has written
    del trained[:]
    again = list(execute_all(requests, store=store))
    assert trained == []
    assert [(r.plan.method.name, record_of(result).run) for r, result in again] == [
        ("none", 0),
        ("dropedge", 0),
        ("dropedge", 1),
        ("none", 0),
    ]


def test_what_is_on_record_is_handed_on_before_anything_trains(store, monkeypatch):
    execute(karate(), runs=2, store=store)
    prepare = Graphs.prepare

    def interrupted(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Graphs, "prepare", interrupted)
    records: list[RunRecord] = []
    with pytest.raises(KeyboardInterrupt):
        execute(karate(), runs=4, store=store, resume=True, records=records)
    assert [record.run for record in records] == [0, 1]
    monkeypatch.setattr(Graphs, "prepare", prepare)
    assert len(execute(karate(), runs=4, store=store, resume=True)) == 4


def test_leaving_the_loop_early_keeps_what_was_yielded_and_trains_no_more(store, trained):
    results = execute_all([Request(karate(), range(5))], store=store)
    next(results)
    next(results)
    results.close()
    assert len(trained) == 2
    assert [record.run for record in store.all()] == [0, 1]


@pytest.mark.parametrize("selection", ["validation", "last"])
def test_the_protocol_says_how_the_epoch_was_chosen(store, selection):
    (record,) = execute(karate(f"selection={selection}"), runs=1, store=store)
    assert record.protocol == store.all()[0].protocol == selection
    assert record.best_epoch == 5 or selection == "validation"
