"""Mini-batches and checkpoints on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import torch

from gaug.runs.store import Store, checkpoint_folder
from gaug.training.checkpoint import Checkpoint
from gaug.training.trainer import Trainer

TRAIN = ("train", "karate", "--split", "stratified", "--set", "train_fraction=0.5", "--runs", "1")


def test_settings_of_batches_reach_the_record(gaug):
    result = gaug(
        *TRAIN, "--set", "epochs=3", "--set", "batch_size=4", "--set", "fanout=3", "--json"
    )
    assert result.code == 0
    assert json.loads(result.out)["config"]["training"]["batch_size"] == 4


def test_what_is_decided_by_memory_is_said_in_one_line(gaug):
    result = gaug(*TRAIN, "--set", "epochs=2", "--set", "batch_size=auto", "--json")
    assert result.code == 0
    assert json.loads(result.out)["config"]["training"]["batch_size"] is None
    assert "gaug: batch_size=auto trains on the whole graph: a run takes about" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "batch_size=0"), "batch_size must be at least 1, got 0."),
        (("--set", "batch_size=4", "--set", "fanout=0"), "fanout must be at least 1, got 0."),
        (("--set", "batch_size=lots"), "Unknown batch_size 'lots'. Choose from: auto."),
        (("--checkpoint-minutes", "-1"), "--checkpoint-minutes must be 0 or more, got -1."),
        (("--checkpoint-minutes", "nan"), "--checkpoint-minutes must be 0 or more, got nan."),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(gaug, no_training, arguments, message):
    result = gaug(*TRAIN, *arguments)
    assert result.code == 2
    assert result.err == f"gaug: {message}\n"


def test_a_batch_above_the_training_nodes_is_refused_with_their_number(gaug):
    result = gaug(*TRAIN, "--set", "batch_size=1000", "--set", "epochs=1")
    assert result.code == 2
    assert "batch_size must be at most the number of training nodes, 16, got 1,000" in result.err


def test_a_checkpoint_is_beside_the_store_and_gone_when_the_run_is_recorded(
    gaug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store, written = tmp_path / "runs.sqlite", []
    save = Checkpoint.save

    def watched(checkpoint: Checkpoint, state: dict[str, object]) -> None:
        save(checkpoint, state)
        written.append(checkpoint.path)
        assert checkpoint.path.exists()

    monkeypatch.setattr(Checkpoint, "save", watched)
    result = gaug(*TRAIN, "--set", "epochs=4", "--checkpoint-minutes", "0", "--store", store)
    assert result.code == 0
    assert len(written) == 4
    assert {path.parent for path in written} == {checkpoint_folder(str(store))}
    assert list(checkpoint_folder(str(store)).iterdir()) == []


@contextmanager
def interrupted_in_epoch_12() -> Iterator[None]:
    tell = Trainer._tell

    def interrupt(trainer: Trainer, stage: object, epoch: float, *others: object) -> None:
        if epoch == 12:
            raise KeyboardInterrupt
        tell(trainer, stage, epoch, *others)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Trainer, "_tell", interrupt)
        yield


def test_the_same_command_goes_on_after_an_interruption(
    gaug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    command = (*TRAIN, "--set", "epochs=20", "--checkpoint-minutes", "0", "--json", "--store")
    whole = json.loads(gaug(*command, tmp_path / "whole.sqlite").out)
    store = tmp_path / "interrupted.sqlite"
    with interrupted_in_epoch_12():
        assert gaug(*command, store).code == 130
    began: list[int] = []
    resumed = Trainer._resumed

    def watched(trainer: Trainer) -> object:
        stage = resumed(trainer)
        began.append(stage.done if stage else 0)
        return stage

    monkeypatch.setattr(Trainer, "_resumed", watched)
    again = gaug(*command, store)
    found = json.loads(again.out)
    assert began == [11]
    assert "gaug: Run 1 goes on from its checkpoint of 20" in again.err
    assert found["test_mean"] == whole["test_mean"]
    with closing(Store(str(store))) as opened:
        assert len(opened.all()) == 1


@pytest.mark.parametrize("command", ["train", "fit"])
@pytest.mark.parametrize("usable", [True, False])
def test_only_a_checkpoint_that_was_loaded_is_announced(
    gaug, tmp_path: Path, command: str, usable: bool
):
    whole = TRAIN if command == "train" else ("fit", *TRAIN[1:-2], "--out", tmp_path / "model")
    arguments = (*whole, "--set", "epochs=20", "--checkpoint-minutes", "0")
    with interrupted_in_epoch_12():
        assert gaug(*arguments).code == 130
    (file,) = tmp_path.glob("*.checkpoints/*")
    if not usable:
        saved = torch.load(file, weights_only=True)
        saved["made_for"][1] = "0.1"
        torch.save(saved, file)
    result = gaug(*arguments)
    assert result.code == 0
    assert result.err.count("goes on from its checkpoint of 20") == usable
    assert ("belongs to another run or another version of PyTorch" in result.err) != usable
    assert not file.exists()
