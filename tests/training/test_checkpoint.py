"""A run that is interrupted and goes on from its checkpoint ends as an undisturbed one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import torch
from torch import nn

from gaug import BGCN, AdaEdge, DropEdge, GAugM, GAugO, NoAugmentation, Stack
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec
from gaug.runs.run_job import RunJob
from gaug.training.checkpoint import Checkpoint, write_checkpoint
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun, Visible
from gaug.training.loop import RunResult
from gaug.training.progress import Progress
from gaug.training.run import PreparedRuns
from gaug.training.task import Task


class KilledError(Exception):
    """Stands for the end of the process."""


@pytest.fixture(scope="module")
def task() -> Task:
    data = planted_graph(SyntheticConfig(num_nodes=120, num_classes=3, degree=6.0, num_features=30))
    return Task.of(make_split(data, "stratified").apply(data))


METHODS: dict[str, Any] = {
    "none": NoAugmentation,
    "dropedge": lambda: DropEdge(drop_fraction=0.3),
    "gaug-m": lambda: GAugM(predictor="ra", inference="original"),
    "adaedge": lambda: AdaEdge(rounds=3, add_confidence=0.4, remove_confidence=0.4),
    "bgcn": lambda: BGCN(graphs=2, dropout_samples=2),
    "gaug-o": lambda: GAugO(
        pretrain_predictor_epochs=4,
        pretrain_classifier_epochs=3,
        pretrain_weights="best",
        warmup=2.0,
        edge_model="vgae",
    ),
    "gaug-m+dropedge": lambda: Stack(
        GAugM(predictor="ra", inference="original"), DropEdge(drop_fraction=0.3)
    ),
    "adaedge+gaug-o": lambda: Stack(
        AdaEdge(rounds=2, add_confidence=0.4, remove_confidence=0.4),
        GAugO(pretrain_predictor_epochs=3, pretrain_classifier_epochs=2),
    ),
    "gaug-o, sparse": lambda: GAugO(
        pretrain_predictor_epochs=4, pretrain_classifier_epochs=3, engine="sparse"
    ),
}


def prepared(task: Task, method: Any, model: str = "gcn", **training: Any) -> PreparedRuns:
    spec = ModelSpec.of(MODELS.config_type(model)(hidden=8))
    return PreparedRuns.prepare(task, spec, method, TrainingConfig(**{"epochs": 9, **training}))


def killed_after(runs: PreparedRuns, steps: int, checkpoint: Checkpoint) -> RunResult | None:
    """Train until so many reports of progress, then stop as if killed; the result if it ended."""
    count = 0

    def count_down(_: Progress) -> None:
        nonlocal count
        count += 1
        if count > steps:
            raise KilledError

    try:
        return runs.train(0, keep_history=True, on_progress=count_down, checkpoint=checkpoint)
    except KilledError:
        return None


def check_same(one: RunResult, other: RunResult) -> None:
    assert torch.equal(one.probabilities, other.probabilities)
    assert (one.best_epoch, one.epochs, one.warning) == (
        other.best_epoch,
        other.epochs,
        other.warning,
    )
    assert str(one.history) == str(other.history)  # NaN counts as itself
    for mine, yours in zip(one.rounds, other.rounds, strict=True):
        assert mine.weights.keys() == yours.weights.keys()
        assert all(torch.equal(mine.weights[name], yours.weights[name]) for name in mine.weights)


@pytest.mark.parametrize("batches", [{}, {"batch_size": 9, "fanout": 3}])
@pytest.mark.parametrize("name", list(METHODS))
def test_a_run_killed_again_and_again_ends_as_an_undisturbed_one(
    task: Task, name: str, batches: dict[str, Any], tmp_path: Path
) -> None:
    whole = prepared(task, METHODS[name](), **batches).train(0, keep_history=True)
    for steps in (2, 3, 7):
        runs = prepared(task, METHODS[name](), **batches)
        file = tmp_path / f"{steps}.checkpoint"
        result, tries, per_epoch = None, 0, 5 if batches else 1
        while result is None:
            # A new process knows nothing but the file.
            checkpoint = Checkpoint(file, "me", seconds=0)
            result = killed_after(runs, steps * per_epoch, checkpoint)
            tries += 1
            assert tries < 80
        assert tries > 1
        check_same(result, whole)


@pytest.mark.parametrize("model", ["gsage", "gat", "jknet"])
def test_every_model_goes_on_as_if_nothing_had_happened(
    task: Task, model: str, tmp_path: Path
) -> None:
    whole = prepared(task, METHODS["gaug-o"](), model).train(0, keep_history=True)
    runs = prepared(task, METHODS["gaug-o"](), model)
    file = tmp_path / "run.checkpoint"
    assert killed_after(runs, 9, Checkpoint(file, "me", seconds=0)) is None
    result = killed_after(runs, 1000, Checkpoint(file, "me", seconds=0))
    assert result is not None
    check_same(result, whole)


def test_nothing_is_written_before_its_time(task: Task, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    prepared(task, NoAugmentation()).train(0, checkpoint=Checkpoint(file, "me", seconds=3600))
    assert list(tmp_path.iterdir()) == []


class OwnRun(AugmentedRun):
    """A method of a user's that says nothing of its state."""


class Own(NoAugmentation):
    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        return OwnRun(visible, generator)


def test_a_method_that_does_not_tell_its_state_is_not_saved(task: Task, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    prepared(task, Own()).train(0, checkpoint=Checkpoint(file, "me", seconds=0))
    assert list(tmp_path.iterdir()) == []


def saved(task: Task, file: Path, identity: str = "me") -> None:
    runs = prepared(task, NoAugmentation())
    assert killed_after(runs, 3, Checkpoint(file, identity, seconds=0)) is None
    assert file.exists()


def test_the_time_before_an_interruption_counts(task: Task, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    saved(task, file)
    content = torch.load(file, weights_only=True)
    assert content["state"]["seconds"] > 0
    content["state"]["seconds"] = 1000.0
    torch.save(content, file)
    job = RunJob(prepared(task, NoAugmentation()), 0, True, Checkpoint(file, "me", seconds=0))
    assert 1000 < job(lambda share, note="": None)["seconds"] < 1500
    # The checkpoints that it wrote itself count from the beginning, too.
    assert 1000 < torch.load(file, weights_only=True)["state"]["seconds"] < 1500


@pytest.mark.parametrize("left", [0, 1, 100, 0.5, 0.99])
def test_a_truncated_file_is_told_and_the_run_starts_over(
    task: Task, tmp_path: Path, left: float
) -> None:
    file = tmp_path / "run.checkpoint"
    saved(task, file)
    content = file.read_bytes()
    file.write_bytes(content[: int(left if isinstance(left, int) else left * len(content))])
    whole = prepared(task, NoAugmentation()).train(0)
    result = prepared(task, NoAugmentation()).train(0, checkpoint=Checkpoint(file, "me"))
    assert torch.equal(result.probabilities, whole.probabilities)
    assert result.warning is not None
    assert f"The checkpoint {file} is damaged" in result.warning
    assert "started from the beginning" in result.warning


def test_a_file_that_would_run_code_is_refused(task: Task, tmp_path: Path) -> None:
    file, trace = tmp_path / "run.checkpoint", tmp_path / "trace"

    class Malicious:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (trace,)

    torch.save({"format": 1, "made_for": Malicious(), "state": {}}, file)
    result = prepared(task, NoAugmentation()).train(0, checkpoint=Checkpoint(file, "me"))
    assert not trace.exists()
    assert result.warning is not None
    assert "is damaged" in result.warning


def test_the_checkpoint_of_another_run_is_not_used(task: Task, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    saved(task, file, "somebody else")
    whole = prepared(task, NoAugmentation()).train(0)
    result = prepared(task, NoAugmentation()).train(0, checkpoint=Checkpoint(file, "me"))
    assert torch.equal(result.probabilities, whole.probabilities)
    assert result.warning is not None
    assert "belongs to another run" in result.warning


@pytest.mark.parametrize("content", [[], None, {"format": 2}, torch.zeros(3), "text", 7])
def test_a_file_that_holds_something_else_is_refused(
    task: Task, tmp_path: Path, content: Any
) -> None:
    file = tmp_path / "run.checkpoint"
    torch.save(content, file)
    result = prepared(task, NoAugmentation()).train(0, checkpoint=Checkpoint(file, "me"))
    assert result.warning is not None
    assert "is damaged" in result.warning


def _without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda state: state.pop(name)


def _setting(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda state: state.update({name: value})


@pytest.mark.parametrize(
    "spoil",
    [
        _without("random"),
        _without("run"),
        _setting("model", {"nothing": torch.zeros(1)}),
        _setting("optimizer", []),
        _setting("graphs", [{"pairs": None, "weight": None}]),
        _setting("random", {"cpu": None, "cuda": None, "method": None}),
    ],
)
def test_a_state_that_cannot_be_restored_starts_the_run_over(
    task: Task, tmp_path: Path, spoil: Callable[[dict[str, Any]], None]
) -> None:
    file = tmp_path / "run.checkpoint"
    saved(task, file)
    content = torch.load(file, weights_only=True)
    spoil(content["state"])
    torch.save(content, file)
    whole = prepared(task, NoAugmentation()).train(0, keep_history=True)
    runs = prepared(task, NoAugmentation())
    result = runs.train(0, keep_history=True, checkpoint=Checkpoint(file, "me"))
    assert torch.equal(result.probabilities, whole.probabilities)
    assert str(result.history) == str(whole.history)
    assert result.earlier_seconds == 0
    assert result.warning is not None
    assert "is damaged" in result.warning
    assert "started from the beginning" in result.warning


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_costs_the_checkpoint_and_not_the_run(task: Task, tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    saved(task, file)
    before = file.read_bytes()
    draft = file.with_suffix(f".{os.getpid()}.draft")

    def fill_disk(_: Progress) -> None:
        if not draft.is_symlink():  # removed after each try
            draft.symlink_to("/dev/full")

    whole = prepared(task, NoAugmentation()).train(0)
    result = prepared(task, NoAugmentation()).train(
        0, on_progress=fill_disk, checkpoint=Checkpoint(file, "me", seconds=0)
    )
    assert torch.equal(result.probabilities, whole.probabilities)
    assert result.warning == (
        f"No checkpoint could be written to {tmp_path} ([Errno 28] No space left on device), so an"
        " interruption would have started this run over."
    )
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("room", [1_000, 50_000, 300_000])
def test_a_disk_that_is_full_midway_is_told_in_the_words_of_the_system(
    tmp_path: Path, room: int
) -> None:
    """PyTorch says of a write that fails after the first that a position is unexpected."""
    resource = pytest.importorskip("resource", reason="limits of other systems are set otherwise")
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", "me")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        checkpoint.save({str(place): torch.zeros(10_000) for place in range(8)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert checkpoint.problem == (
        f"No checkpoint could be written to {tmp_path} ([Errno 27] File too large), so an"
        " interruption would have started this run over."
    )
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_of_writing_leaves_the_checkpoint_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    file.write_bytes(b"earlier")

    def interrupted(draft: BinaryIO) -> None:
        draft.write(b"a part")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(file, interrupted)
    assert file.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_disk_that_was_full_for_a_while_is_forgotten(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", "me")
    (tmp_path / f"run.{os.getpid()}.draft").symlink_to("/dev/full")
    checkpoint.save({"a": torch.zeros(1000)})
    assert checkpoint.problem is not None
    checkpoint.save({"a": torch.zeros(1000)})
    assert checkpoint.problem is None
    assert checkpoint.load() is not None


def test_a_fit_with_other_code_of_the_same_name_does_not_use_it(tmp_path: Path) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=90, num_classes=3, degree=6.0))
    file = tmp_path / "fit.checkpoint"

    def model(times: float) -> Any:
        class Mine(nn.Module):
            def __init__(self, in_features: int, num_classes: int) -> None:
                super().__init__()
                self.layer = nn.Linear(in_features, num_classes)

            def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> Any:
                return self.layer(times * x.to_dense())

        return Mine

    def method(times: float) -> NoAugmentation:
        return NoAugmentation(model=model(times), epochs=5)

    def stop(now: Progress) -> None:
        if now.epochs == 3:
            raise KilledError

    with pytest.raises(KilledError):
        method(1.0).fit(data, on_progress=stop, checkpoint=file, checkpoint_seconds=0)
    told: list[float] = []
    method(1.0).fit(data, on_progress=lambda now: told.append(now.epochs), checkpoint=file)
    assert told[0] == 3  # the two before are in the file
    with pytest.raises(KilledError):
        method(1.0).fit(data, on_progress=stop, checkpoint=file, checkpoint_seconds=0)
    with pytest.warns(UserWarning, match="belongs to another run"):
        method(2.0).fit(data, checkpoint=file)


def test_a_fit_goes_on_from_its_checkpoint_and_removes_it(tmp_path: Path) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=90, num_classes=3, degree=6.0))
    method = GAugO(epochs=5, pretrain_predictor_epochs=3, pretrain_classifier_epochs=2)
    whole = method.fit(data).predict_proba(data)
    file = tmp_path / "fit.checkpoint"
    count = 0

    def count_down(_: Progress) -> None:
        nonlocal count
        count += 1
        if count == 7:
            raise KilledError

    with pytest.raises(KilledError):
        method.fit(data, on_progress=count_down, checkpoint=file, checkpoint_seconds=0)
    assert file.exists()
    told: list[float] = []
    fitted = method.fit(data, on_progress=lambda now: told.append(now.epochs), checkpoint=file)
    assert told[0] == 7  # the six before are in the file
    assert torch.equal(fitted.predict_proba(data), whole)
    assert not file.exists()


@pytest.mark.parametrize(
    ("begun", "other"),
    [
        (NoAugmentation(epochs=5), NoAugmentation(epochs=5, hidden=64)),
        (
            GAugM(predictor="gae+vgae", epochs=5, predictors={"gae": {"predictor_epochs": 2}}),
            GAugM(predictor="gae+vgae", epochs=5, predictors={"vgae": {"predictor_epochs": 2}}),
        ),
    ],
    ids=["of the model", "of a predictor"],
)
def test_a_fit_with_other_settings_does_not_use_it(
    begun: NoAugmentation | GAugM, other: NoAugmentation | GAugM, tmp_path: Path
) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=90, num_classes=3, degree=6.0))
    file = tmp_path / "fit.checkpoint"

    def stop(now: Progress) -> None:
        if now.epochs == 3:
            raise KilledError

    with pytest.raises(KilledError):
        begun.fit(data, on_progress=stop, checkpoint=file, checkpoint_seconds=0)
    with pytest.warns(UserWarning, match="belongs to another run"):
        other.fit(data, checkpoint=file)
