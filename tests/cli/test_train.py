from __future__ import annotations

import json
import math
import sys
from contextlib import closing
from typing import Any

import pytest

from gaug.cli import options
from gaug.cli.main import main
from gaug.errors import ConfigError
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.runs.summary import summarize as summary_of
from gaug.training import run as training_run
from gaug.training.loop import train_run
from tests.known import known

KARATE = ("train", "karate", "--split", "stratified", "--set", "train_fraction=0.2")
SHORT = (*KARATE, "--set", "epochs=5", "--runs", "2")
KEYS = {
    "graph",
    "model",
    "method",
    "config",
    "split",
    "protocol",
    "runs",
    "test_mean",
    "test_std",
    "val_mean",
    "val_std",
    "seconds_per_run",
    "peak_memory_mb",
    "record_ids",
    "warnings",
}


def records(url: str | None = None) -> list[RunRecord]:
    with closing(Store(url)) as store:
        return store.all()


def test_json_is_one_object_with_the_documented_keys_and_nothing_else(gaug):
    result = gaug(*SHORT, "--json")
    assert result.code == 0
    summary = json.loads(result.out)
    assert result.out.count("\n") == 1
    assert set(summary) == KEYS
    assert (summary["graph"], summary["model"], summary["method"]) == ("karate", "gcn", "none")
    assert summary["runs"] == 2
    assert summary["split"]["name"] == "stratified-0"
    assert summary["config"]["training"]["epochs"] == 5


def test_json_gives_the_scores_and_the_numbers_of_the_records(gaug):
    summary = json.loads(gaug(*SHORT, "--json").out)
    written = records()
    assert summary["record_ids"] == [record.id for record in written]
    assert summary["test_mean"] == pytest.approx(
        sum(known(record.test_score) for record in written) / 2
    )
    assert summary["val_mean"] == pytest.approx(
        sum(known(record.val_score) for record in written) / 2
    )


def test_for_a_person_it_prints_mean_deviation_cost_and_where_the_records_are(gaug, tmp_path):
    path = tmp_path / "mine.sqlite"
    result = gaug(*SHORT, "--store", str(path))
    summary = summary_of(records(str(path)))
    assert result.code == 0
    assert f"{summary['test_mean']:.1f} ± {summary['test_std']:.1f}" in result.out
    assert f"{summary['val_mean']:.1f} ± {summary['val_std']:.1f}" in result.out
    assert str(path) in result.out
    assert result.err == ""


def test_model_method_and_settings_reach_the_record(gaug):
    result = gaug(*SHORT, "-m", "gsage", "--method", "dropedge", "--set", "drop_fraction=0.25")
    assert result.code == 0
    for record in records():
        assert (record.model, record.method) == ("gsage", "dropedge")
        assert record.config["method"] == {"drop_fraction": 0.25, "layer_wise": False}


def test_the_same_command_gives_the_same_scores_and_another_seed_other_losses(gaug):
    for seed in ("3", "3", "4"):
        gaug(*SHORT, "--history", "--seed", seed)
    written = records()
    assert [record.history for record in written[:2]] == [record.history for record in written[2:4]]
    assert written[0].history != written[4].history


def test_history_puts_a_row_an_epoch_into_the_record(gaug):
    gaug(*SHORT, "--history")
    gaug(*SHORT)
    written = records()
    for record in written[:2]:
        assert record.history is not None
        assert [row["epoch"] for row in record.history] == [1, 2, 3, 4, 5]
        assert all(math.isfinite(value) for row in record.history for value in row.values())
    assert [record.history for record in written[2:]] == [None, None]


def test_resume_takes_over_what_is_on_record(gaug, request):
    gaug(*SHORT)
    first = [record.id for record in records()]
    request.getfixturevalue("no_training")
    result = gaug(*SHORT, "--resume", "--json")
    assert "2 of 2 runs were already recorded." in result.err
    summary = json.loads(result.out)
    assert summary["record_ids"] == first


def test_an_interruption_prints_what_is_finished_and_exits_with_130(gaug, monkeypatch):
    calls = []

    def interrupted(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return train_run(*arguments, **options)

    monkeypatch.setattr(training_run, "train_run", interrupted)
    result = gaug(*KARATE, "--set", "epochs=5", "--runs", "4", "--workers", "1", "--json")
    assert result.code == 130
    assert json.loads(result.out)["runs"] == len(records()) == 2
    assert "2 of 4 runs are finished" in result.err
    assert "--resume" in result.err


def test_a_run_that_breaks_off_says_so_on_standard_error_and_on_record(gaug):
    settings = ("epochs=5", "pretrain_predictor_epochs=0", "edge_learning_rate=1e25")
    sets = [part for setting in settings for part in ("--set", setting)]
    result = gaug(*KARATE, "--runs", "1", "--method", "gaug-o", *sets)
    (record,) = records()
    assert result.code == 0
    assert record.warning is not None
    assert "edge_learning_rate" in record.warning
    assert record.warning in result.err


def test_a_run_that_comes_to_nothing_is_an_error_and_not_on_record(gaug):
    result = gaug(*KARATE, "--set", "epochs=50", "--runs", "1", "--set", "learning_rate=1e38")
    assert result.code == 1
    assert "Try a lower learning_rate." in result.err
    assert result.out == ""
    assert records() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["karte"], "Unknown graph 'karte'. Choose from:"),
        (["karate", "--model", "gnc"], "Unknown model 'gnc'. Choose from:"),
        (["karate", "--method", "drop"], "Unknown method 'drop'. Choose from:"),
        (["karate", "--set", "epoch=5"], "Unknown setting 'epoch'. Choose from:"),
        (["karate", "--split", "rndom"], "Unknown split 'rndom'. Choose from:"),
        (["karate", "--split", "public"], "no public split. Choose from:"),
        (["karate", "--set", "epochs"], "A setting must read name=value, got 'epochs'."),
        (["karate", "--set", "epochs=2.5"], "epochs must be a whole number, got '2.5'."),
        (["karate", "--set", "dropout=-0.1"], "dropout must be in [0, 1), got -0.1."),
        (["karate", "--set", "learning_rate=nan"], "learning_rate must be finite, got nan."),
        (["karate", "--set", "train_fraction=0.9"], "must be below 1"),
        (["karate", "--runs", "0"], "runs must be at least 1, got 0."),
        (["karate", "--seed", "-1"], "seed must be at least 0, got -1."),
        (
            ["karate", "--seed", str(2**63)],
            "seed must be at most 2147483647, got 9223372036854775808.",
        ),
        (["karate", "--workers", "0"], "workers must be at least 1, got 0."),
        (["karate", "--threads", "0"], "threads must be at least 1, got 0."),
        (["karate", "--device", "gpu"], "device must be one of cpu, cuda, mps, xpu, got 'gpu'."),
        (["karate", "--device", "cuda:99"], "There is no device 'cuda:99' here"),
    ],
    ids=lambda value: " ".join(value[1:] or value) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_in_one_line_with_exit_2(gaug, no_training, arguments, message):
    result = gaug("train", *arguments, "--json")
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("gaug: ")
    assert result.err.count("\n") == 1
    assert message in result.err


def test_missing_data_is_one_line_with_the_remedy_and_exit_1(gaug, tmp_path):
    result = gaug("train", "cora", "--data-root", str(tmp_path))
    assert result.code == 1
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert "gaug datasets fetch cora" in result.err
    assert str(tmp_path) in result.err


def test_a_missing_split_file_is_one_line_and_exit_1(gaug, tmp_path, no_training):
    result = gaug("train", "karate", "--split", str(tmp_path / "mine.npz"))
    assert result.code == 1
    assert result.err == f"gaug: There is no split file {tmp_path / 'mine.npz'}.\n"


def test_a_store_that_cannot_be_written_is_refused_before_any_training(gaug, tmp_path, no_training):
    result = gaug(*SHORT, "--store", str(tmp_path))
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert str(tmp_path) in result.err
    assert "--store" in result.err


def test_debug_shows_where_an_error_was_raised(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gaug", "train", "karate", "--model", "gnc", "--debug"])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(options.state, "debug", False)
    with pytest.raises(ConfigError, match="Unknown model 'gnc'"):
        main()
