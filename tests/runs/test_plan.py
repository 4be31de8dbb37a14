from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gaug.cli.main import main
from gaug.errors import ConfigError, DataError, StoreError
from gaug.provenance import software_versions
from gaug.runs import execute as runs_module
from gaug.runs.plan import Experiment, check_device, run_experiment, spread, summarize
from gaug.runs.record import RunRecord
from gaug.runs.store import Store

SETTINGS = ("train_fraction=0.2", "epochs=5")


def karate(*settings: str, **options: Any) -> Experiment:
    return Experiment.of("karate", split="stratified", settings=[*SETTINGS, *settings], **options)


def outcome(record: RunRecord) -> tuple[Any, ...]:
    """What a run came to, without what it cost."""
    return record.run, record.val_score, record.test_score, record.best_epoch, record.history


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(str(tmp_path / "runs.sqlite"))) as opened:
        yield opened


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the runs that were trained, in a list that grows."""
    seeds: list[int] = []
    train_run = runs_module.train_run

    def counted(*arguments: Any, **options: Any) -> Any:
        seeds.append(arguments[5])
        return train_run(*arguments, **options)

    monkeypatch.setattr(runs_module, "train_run", counted)
    return seeds


# What a run is.


def test_a_run_is_the_same_whatever_the_number_of_runs_and_workers():
    experiment = karate("method.drop_fraction=0.3", method="dropedge")
    one = run_experiment(experiment, runs=1, keep_history=True)
    three = run_experiment(experiment, runs=3, keep_history=True)
    spread_out = run_experiment(experiment, runs=3, workers=2, keep_history=True)
    assert [outcome(record) for record in three] == [outcome(record) for record in spread_out]
    assert outcome(one[0]) == outcome(three[0])
    assert [record.run for record in spread_out] == [0, 1, 2]
    assert [record.identity for record in three] == [record.identity for record in spread_out]


def test_runs_differ_from_one_another_and_with_the_seed():
    records = run_experiment(karate(), runs=3, keep_history=True)
    records += run_experiment(karate(seed=1), runs=3, keep_history=True)
    losses = [tuple(row["train_loss"] for row in record.history) for record in records]
    assert len(set(losses)) == 6
    assert len({record.identity for record in records}) == 6


def test_all_runs_share_one_split_and_one_graph():
    records = run_experiment(karate(), runs=3)
    assert len({(record.split, record.split_hash, record.graph_hash) for record in records}) == 1


def test_a_record_says_what_was_asked_and_by_which_software(store):
    experiment = karate("model.hidden=16", "patience=3", model="gsage", method="dropedge", seed=4)
    (record,) = run_experiment(experiment, runs=1, store=store)
    (stored,) = store.all()
    for kept in (record, stored):
        assert (kept.graph, kept.model, kept.method) == ("karate", "gsage", "dropedge")
        assert kept.split == "stratified-0"
        assert kept.protocol == "validation"
        assert (kept.seed, kept.run) == (4, 0)
        assert kept.config["model"]["hidden"] == 16
        assert kept.config["training"]["patience"] == 3
        assert kept.config["split"]["train_fraction"] == 0.2
        assert kept.config == experiment.config
        assert kept.versions == software_versions()
        assert 1 <= kept.best_epoch <= kept.epochs <= 5
        assert kept.seconds > 0
        assert kept.peak_memory_mb > 0
    assert {"gaug", "torch", "torch_geometric", "numpy", "python"} <= set(record.versions)


def test_the_history_has_a_row_an_epoch_where_asked_and_none_else(store):
    run_experiment(karate(), runs=1, store=store, keep_history=True)
    run_experiment(karate(), runs=1, store=store)
    with_history, without = store.all()
    assert [row["epoch"] for row in with_history.history] == [1, 2, 3, 4, 5]
    assert all(math.isfinite(row["train_loss"]) for row in with_history.history)
    best = max(row["val_score"] for row in with_history.history)
    assert with_history.val_score == best
    assert with_history.history[with_history.best_epoch - 1]["val_score"] == best
    assert without.history is None


def test_the_graph_s_own_split_is_the_default():
    experiment = Experiment.of("karate", settings=["train_fraction=0.5", "epochs=1"])
    (record,) = run_experiment(experiment, runs=1)
    assert record.split == "random-0"


# Taking over what is on record.


def test_resuming_takes_over_finished_runs_and_does_only_the_missing_ones(store, trained):
    first = run_experiment(karate(), runs=2, store=store)
    assert len(trained) == 2
    all_four = run_experiment(karate(), runs=4, store=store, resume=True)
    assert len(trained) == len(set(trained)) == 4
    assert [record.run for record in all_four] == [0, 1, 2, 3]
    assert [record.id for record in all_four[:2]] == [record.id for record in first]
    again = run_experiment(karate(), runs=4, store=store, resume=True)
    assert len(trained) == 4
    assert [record.id for record in again] == [record.id for record in all_four]
    assert len(store.all()) == 4


def test_resuming_fills_a_gap(store, trained):
    records = run_experiment(karate(), runs=3)
    for record in (records[0], records[2]):
        store.add(record)
    del trained[:]
    filled = run_experiment(karate(), runs=3, store=store, resume=True)
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
def test_resuming_takes_over_nothing_of_another_experiment(store, trained, settings, options):
    run_experiment(karate(), runs=1, store=store)
    run_experiment(karate(*settings, **options), runs=1, store=store, resume=True)
    assert len(trained) == 2


def test_without_resuming_every_run_is_done_and_recorded_anew(store, trained):
    for _ in range(2):
        run_experiment(karate(), runs=2, store=store)
    assert len(trained) == 4
    assert [record.run for record in store.all()] == [0, 1, 0, 1]


def test_resuming_with_history_does_runs_without_one_again(store, trained):
    run_experiment(karate(), runs=1, store=store)
    (record,) = run_experiment(karate(), runs=1, store=store, resume=True, keep_history=True)
    assert len(trained) == 2
    assert len(record.history) == 5


def test_progress_counts_the_runs_that_were_taken_over(store):
    run_experiment(karate(), runs=2, store=store)
    moves: list[float] = []
    run_experiment(karate(), runs=3, store=store, resume=True, on_progress=moves.append)
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
    run_experiment(karate(*settings, method=method), runs=1, on_progress=moves.append)
    expected = [0, *(epoch / epochs for epoch in range(1, epochs + 1)), 1]
    assert moves == pytest.approx(expected)


def test_progress_of_a_method_that_may_stop_early_does_not_reach_the_end_before_it():
    moves: list[float] = []
    settings = ["rounds=3", "add_fraction=0.0", "remove_fraction=0.0"]
    run_experiment(karate(*settings, method="adaedge"), runs=1, on_progress=moves.append)
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
        run_experiment(
            karate(), runs=5, store=store, on_progress=interrupt_after(2), records=records
        )
    assert [record.run for record in records] == [0, 1]
    assert [record.id for record in store.all()] == [record.id for record in records]
    del trained[:]
    whole = run_experiment(karate(), runs=5, store=store, resume=True)
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
    assert f"{len(finished)} of 500 runs are finished and on record" in err
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
        run_experiment(karate(), runs=runs)
    assert trained == []


def test_no_workers_are_refused(trained):
    with pytest.raises(ConfigError, match="workers must be at least 1, got 0"):
        run_experiment(karate(), runs=1, workers=0)
    assert trained == []


def test_a_negative_seed_is_refused():
    with pytest.raises(ConfigError, match="seed must be at least 0, got -1"):
        karate(seed=-1)


def test_no_threads_are_refused():
    with pytest.raises(ConfigError, match="threads must be at least 1, got 0"):
        karate(threads=0)


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta", ""])
def test_a_device_that_is_not_here_is_refused_in_one_line(device):
    with pytest.raises(ConfigError, match=f"There is no device '{device}' here") as caught:
        karate(device=device)
    assert "\n" not in str(caught.value)


def test_the_cpu_is_a_device():
    check_device("cpu")


def test_an_unknown_graph_is_refused_with_the_known_ones():
    experiment = Experiment.of("karte", settings=SETTINGS)
    with pytest.raises(ConfigError, match=r"Unknown graph 'karte'.*karate"):
        run_experiment(experiment, runs=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "gnc"}, "Unknown model 'gnc'.*gcn"),
        ({"method": "drop"}, "Unknown method 'drop'.*dropedge"),
        ({"settings": ["epoch=5"]}, "Unknown setting 'epoch'.*epochs"),
        ({"settings": ["dropout=-0.5"]}, "dropout must be in .*got -0.5"),
        ({"settings": ["epochs=many"]}, "epochs must be a whole number, got 'many'"),
        ({"settings": ["epochs"]}, "name=value, got 'epochs'"),
    ],
)
def test_unknown_names_and_values_out_of_range_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        Experiment.of("karate", **options)


def test_a_split_that_leaves_a_part_empty_is_refused_before_training(trained):
    with pytest.raises(DataError, match=r"train part .* must not be empty"):
        run_experiment(Experiment.of("karate", settings=["train_fraction=0.01"]), runs=1)
    assert trained == []


def test_a_store_that_cannot_be_written_is_refused_before_training(tmp_path, trained):
    path = tmp_path / "runs.sqlite"
    Store(str(path)).close()
    with (
        pytest.raises(StoreError, match="read-only"),
        closing(Store(f"sqlite:///file:{path}?mode=ro&uri=true")) as store,
    ):
        run_experiment(karate(), runs=1, store=store)
    assert trained == []


# Means and deviations.


def test_a_summary_agrees_with_numpy():
    records = run_experiment(karate(), runs=5)
    summary = summarize(records)
    tests = [record.test_score for record in records]
    vals = [record.val_score for record in records]
    assert summary["runs"] == 5
    assert summary["test_mean"] == pytest.approx(np.mean(tests), rel=1e-12)
    assert summary["test_std"] == pytest.approx(np.std(tests, ddof=1), rel=1e-12)
    assert summary["val_mean"] == pytest.approx(np.mean(vals), rel=1e-12)
    assert summary["val_std"] == pytest.approx(np.std(vals, ddof=1), rel=1e-12)
    seconds = [record.seconds for record in records]
    assert summary["seconds_per_run"] == pytest.approx(np.mean(seconds), rel=1e-12)
    assert summary["peak_memory_mb"] == max(record.peak_memory_mb for record in records)


def test_a_summary_of_runs_without_validation_has_no_validation_score():
    records = run_experiment(karate(), runs=2)
    for record in records:
        record.val_score = None
    summary = summarize(records)
    assert summary["val_mean"] is None
    assert summary["val_std"] is None


def test_a_summary_of_one_run_has_no_deviation():
    summary = summarize(run_experiment(karate(), runs=1))
    assert summary["test_std"] is None
    assert summary["val_std"] is None


def test_a_summary_tells_of_how_many_runs_a_warning_is_true():
    records = run_experiment(karate(), runs=3)
    assert summarize(records)["warnings"] == []
    records[1].warning = "It went wrong."
    assert summarize(records)["warnings"] == ["1 of 3 runs: It went wrong."]


def test_a_single_value_has_no_spread_and_others_the_sample_deviation():
    assert spread([80.0]) == 0.0
    assert spread([1.0, 3.0]) == pytest.approx(math.sqrt(2))
    values = [81.5, 80.25, 83.0, 79.75]
    assert spread(values) == pytest.approx(np.std(values, ddof=1), rel=1e-12)


def test_nothing_cannot_be_summarized():
    with pytest.raises(ValueError, match="no records"):
        summarize([])


def test_settings_may_be_a_dict():
    by_text = Experiment.of("karate", settings=["epochs=7", "hidden=9"])
    assert Experiment.of("karate", settings={"epochs": 7, "hidden": 9}) == by_text


@pytest.mark.parametrize(
    ("setting", "owner"),
    [
        ("predictor=ra", "--method gaug-m"),
        ("drop_fraction=0.3", "--method dropedge"),
        ("heads=2", "--model gat"),
    ],
)
def test_a_setting_of_something_else_is_refused_with_what_it_goes_with(setting, owner):
    with pytest.raises(ConfigError, match=f"goes with {owner}"):
        Experiment.of("karate", settings=[setting])
