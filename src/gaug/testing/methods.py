"""What every method promises."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from gaug.data.splits import make_split
from gaug.methods.loading import load
from gaug.methods.method import Method
from gaug.methods.registry import METHODS
from gaug.models.config import GCNConfig
from gaug.models.spec import ModelSpec
from gaug.testing.surroundings import NUM_CLASSES, left_as_they_were, small_graph
from gaug.training.checkpoint import Checkpoint
from gaug.training.config import TrainingConfig
from gaug.training.loop import RunResult
from gaug.training.progress import Progress
from gaug.training.run import PreparedRuns
from gaug.training.task import Task

_EPOCHS = 12
_NUM_NODES = 120
_BATCH = 10


def check_method(method: Method[Any, Any]) -> None:
    """Check that a method keeps the promises of every method.

    Runs depend only on the seed and do not change the graph or the global random state; no
    validation or test label is used, unless the method says so; predictions are distributions; it
    trains in mini-batches; a run whose state it tells goes on from a checkpoint as if nothing had
    happened; a fitted classifier ignores the labels of a graph and predicts the same after saving
    and loading.

    Args:
        method: A method with its settings; it is trained with a small GCN for a few epochs.

    Raises:
        AssertionError: If a promise is broken; the message says which.
    """
    method = copy.copy(method)
    method.model = ModelSpec.of(GCNConfig(hidden=8))
    method.training = TrainingConfig(epochs=_EPOCHS)
    data = small_graph(_NUM_NODES)
    data = make_split(data, "stratified").apply(data)
    task = Task.of(data)
    with left_as_they_were(data, _name(method)):
        _check_runs(method, task)
        _check_batches(method, task)
        _check_checkpoint(method, task)
        if not method.looks_at_labels:
            _check_hidden_labels(method, task)
        _check_classifier(method, data)


def _name(method: Method[Any, Any]) -> str:
    return type(method).__name__


def _run(method: Method[Any, Any], task: Task, seed: int, **training: Any) -> RunResult:
    settings = dataclasses.replace(method.training, **training)
    runs = PreparedRuns.prepare(task, method.model, copy.copy(method), settings, seed=seed)
    return runs.train(0, keep_history=True)


def _check_runs(method: Method[Any, Any], task: Task) -> None:
    first, again, other = (_run(method, task, seed) for seed in (3, 3, 4))
    same = torch.equal(first.probabilities, again.probabilities) and first.history == again.history
    assert same, f"{_name(method)} must give the same run for the same seed."
    assert not torch.equal(first.probabilities, other.probabilities), (
        f"{_name(method)} must give a different run for a different seed."
    )
    shape = (task.adjacency.num_nodes, NUM_CLASSES)
    assert first.probabilities.shape == shape, (
        f"{_name(method)} must give probabilities of shape {shape}, got"
        f" {tuple(first.probabilities.shape)}."
    )
    torch.testing.assert_close(
        first.probabilities.sum(dim=1),
        torch.ones(task.adjacency.num_nodes),
        msg=lambda reason: f"{_name(method)} must give probabilities that sum to 1: {reason}",
    )
    most = method.max_epochs(_EPOCHS)
    assert first.epochs <= most, (
        f"max_epochs of {_name(method)} must be at least the epochs of a run, {first.epochs},"
        f" got {most}."
    )


def _check_batches(method: Method[Any, Any], task: Task) -> None:
    first, again = (_run(method, task, 3, batch_size=_BATCH) for _ in range(2))
    assert torch.equal(first.probabilities, again.probabilities), (
        f"{_name(method)} must give the same run for the same seed, in mini-batches, too."
    )


class _InterruptedError(Exception):
    pass


def _check_checkpoint(method: Method[Any, Any], task: Task) -> None:
    runs = PreparedRuns.prepare(task, method.model, copy.copy(method), method.training)
    whole = runs.train(0)

    def interrupt(now: Progress) -> None:
        if now.epochs > _EPOCHS / 2:
            raise _InterruptedError

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.checkpoint"
        with contextlib.suppress(_InterruptedError):
            runs.train(0, on_progress=interrupt, checkpoint=Checkpoint(file, "run", seconds=0))
        resumed = runs.train(0, checkpoint=Checkpoint(file, "run", seconds=0))
    assert torch.equal(resumed.probabilities, whole.probabilities), (
        f"{_name(method)} must go on from its state as if nothing had happened."
    )


def _check_hidden_labels(method: Method[Any, Any], task: Task) -> None:
    hidden = torch.cat([task.val, task.test])
    labels = task.labels.clone()
    labels[hidden] = (labels[hidden] + 1) % NUM_CLASSES
    changed = dataclasses.replace(task, labels=labels)
    # The last epoch, which needs no validation label.
    one, other = (_run(method, shown, 0, selection="last") for shown in (task, changed))
    assert torch.equal(one.probabilities, other.probabilities), (
        f"{_name(method)} must not depend on labels of validation and test nodes."
    )


def _check_classifier(method: Method[Any, Any], data: Data) -> None:
    name = _name(method)
    classifier = method.fit(data)
    assert type(classifier) is method.classifier_type, (
        f"classifier_type of {name} must be the class that fit returns,"
        f" {type(classifier).__name__}, got {method.classifier_type.__name__}."
    )
    expected = classifier.predict_proba(data)
    assert torch.equal(method.fit(data).predict_proba(data), expected), (
        f"{name} must not change when it is fitted: a second fit gave different predictions."
    )
    bare = Data(x=data.x, edge_index=data.edge_index, num_nodes=data.num_nodes)
    assert torch.equal(classifier.predict_proba(bare), expected), (
        f"The classifier of {name} must not depend on labels and masks of the graph."
    )
    if method.config.name not in METHODS:
        return  # it cannot be loaded by its name
    with tempfile.TemporaryDirectory() as folder:
        classifier.save(Path(folder) / "saved")
        loaded = load(Path(folder) / "saved")
    assert torch.equal(loaded.predict_proba(data), expected), (
        f"The classifier of {name} must predict the same after saving and loading."
    )
