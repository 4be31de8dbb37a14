"""Students: the distance from a teacher by hand, and rounds in which they learn from it."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from gaug import (
    BGCN,
    AdaEdge,
    DropEdge,
    GAugM,
    GAugO,
    NoAugmentation,
    Stack,
    load,
)
from gaug.choosing.candidates import GAUG_O
from gaug.data.catalog.loading import load_graph
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.methods.method import Method
from gaug.models.base import GNN, Features
from gaug.models.config import GCNConfig, ModuleConfig
from gaug.models.spec import ModelSpec
from gaug.runs.estimated_seconds import estimated_seconds
from gaug.runs.graphs import Graphs
from gaug.runs.memory import plan_memory
from gaug.runs.plan import Plan
from gaug.seeding import seeded
from gaug.training import step_loss
from gaug.training.batch import Batch
from gaug.training.checkpoint import Checkpoint
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun, Round, Visible
from gaug.training.loop import RunResult, train_run
from gaug.training.progress import Progress
from gaug.training.run import PreparedRuns
from gaug.training.stage import Stage
from gaug.training.steps import Steps
from gaug.training.students import distillation_loss
from gaug.training.task import Task

_EPOCHS = 10
_SHORT: dict[str, Any] = {"pretrain_predictor_epochs": 3, "pretrain_classifier_epochs": 3}

METHODS: list[Method[Any, Any]] = [
    NoAugmentation(),
    DropEdge(),
    AdaEdge(rounds=2, add_confidence=0.34, remove_confidence=0.34),
    BGCN(graphs=2, dropout_samples=2),
    GAugM(predictor="ra"),
    GAugM(predictor="ra", rounds=2),
    GAugM(predictor="ra", inference="original"),
    GAugO(**_SHORT),
    Stack(GAugM(predictor="ra"), DropEdge()),
    Stack(AdaEdge(rounds=1, add_confidence=0.34, remove_confidence=0.34), GAugO(**_SHORT)),
]


@pytest.fixture(scope="module")
def task() -> Task:
    data = planted_graph(SyntheticConfig(num_nodes=120, num_classes=3, degree=6.0, num_features=30))
    return Task.of(make_split(data, "stratified").apply(data))


def several_labels(task: Task) -> Task:
    labels = functional.one_hot(task.labels, 3).float()
    return Task(
        task.features, task.adjacency, labels, task.train, task.val, task.test, task.num_classes
    )


def prepared(task: Task, method: Method[Any, Any], **training: Any) -> PreparedRuns:
    spec = ModelSpec.of(GCNConfig(hidden=8))
    config = TrainingConfig(**{"epochs": _EPOCHS, **training})
    return PreparedRuns.prepare(task, spec, copy.copy(method), config)


def trained(task: Task, method: Method[Any, Any], **training: Any) -> RunResult:
    return prepared(task, method, **training).train(0, keep_history=True)


# The distance.


def test_the_distance_is_the_mean_divergence_from_the_teacher() -> None:
    """Against NumPy, node by node."""
    generator = torch.Generator().manual_seed(0)
    passes = [torch.randn(5, 3, generator=generator) for _ in range(2)]
    teacher = torch.randn(5, 3, generator=generator).softmax(dim=1)
    q = teacher.double().numpy()
    total = 0.0
    for one in passes:
        p = np.exp(one.double().numpy())
        p /= p.sum(axis=1, keepdims=True)
        total += float((q * np.log(q / p)).sum())
    assert distillation_loss(passes, teacher, False).item() == pytest.approx(total / 10, rel=1e-5)


def test_with_several_labels_each_class_is_a_distribution_of_its_own() -> None:
    """Against PyTorch's divergence of Bernoulli distributions."""
    logits, teacher = (
        torch.tensor([[0.3, -1.0], [2.0, 0.1]]),
        torch.tensor([[0.2, 0.9], [0.5, 1.0]]),
    )
    one, other = (torch.distributions.Bernoulli(p) for p in (teacher, logits.sigmoid()))
    expected = torch.distributions.kl_divergence(one, other).mean()
    torch.testing.assert_close(distillation_loss([logits], teacher, True), expected)


@pytest.mark.parametrize("multilabel", [False, True])
def test_who_predicts_the_same_is_at_no_distance_and_a_certain_teacher_at_a_finite_one(
    multilabel: bool,
) -> None:
    logits = torch.tensor([[4.0, -1.0, 0.5], [0.0, 0.0, 0.0]])
    same = logits.sigmoid() if multilabel else logits.softmax(dim=1)
    assert distillation_loss([logits], same, multilabel).item() == pytest.approx(0.0, abs=1e-6)
    certain = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    logits = logits.requires_grad_()
    loss = distillation_loss([logits], certain, multilabel)
    loss.backward()
    assert loss.item() > 0.1
    assert logits.grad is not None
    assert bool(torch.isfinite(logits.grad).all())


# The rounds.


class Slope(GNN):
    """One linear layer, so that its training can be written again in a few lines."""

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_features, num_classes)

    def classify(self, h: Features, adjacency: Adjacency) -> Tensor:
        assert isinstance(h, Tensor)
        scores: Tensor = self.layer(h)
        return scores


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_a_student_minimizes_the_loss_of_the_labels_and_the_distance(weight: float) -> None:
    """Against a loop of our own, with the same weights to begin with."""
    data = planted_graph(SyntheticConfig(num_nodes=60, num_classes=3, num_features=8))
    data.x = data.x.to_dense() if data.x.layout != torch.strided else data.x
    task = Task.of(make_split(data, "stratified").apply(data))
    config = TrainingConfig(
        epochs=_EPOCHS, selection="last", students=1, student_weight=weight
    )  # fmt: skip
    build = lambda: Slope(task.in_features, task.num_classes)  # noqa: E731
    result = train_run(task, build, NoAugmentation(), ModuleConfig(0.05, 0.0), config, 7)
    x = task.features
    assert isinstance(x, Tensor)

    def fit(teacher: Tensor | None) -> Tensor:
        model = build()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        for _ in range(_EPOCHS):
            scores = model.layer(x)
            loss = functional.cross_entropy(scores[task.train], task.labels[task.train])
            if teacher is not None:
                logs = scores.log_softmax(dim=1)
                loss = loss + weight * functional.kl_div(logs, teacher, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return model.layer(x).detach().softmax(dim=1)

    with seeded(7, torch.device("cpu")):
        teacher = fit(None)
        expected = fit(teacher)
    torch.testing.assert_close(result.probabilities, expected, rtol=1e-4, atol=1e-5)
    assert (expected - teacher).abs().max() > 1e-3


@pytest.fixture
def teachers(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """What students learned from, each once."""
    found: list[Tensor] = []

    def noting(passes: Any, teacher: Tensor, multilabel: bool) -> Tensor:
        if not any(teacher is one for one in found):
            found.append(teacher)
        return distillation_loss(passes, teacher, multilabel)

    monkeypatch.setattr(step_loss, "distillation_loss", noting)
    return found


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_the_teacher_is_the_run_without_students_and_the_last_student_counts(
    task: Task, method: Method[Any, Any], teachers: list[Tensor]
) -> None:
    alone = trained(task, method)
    both = trained(task, method, students=2)
    first, second = both.rounds[-2:]
    assert [result.round.student for result in both.rounds].count(True) == 2
    assert len(teachers) == 2
    assert torch.equal(teachers[0], alone.probabilities)
    assert torch.equal(teachers[1], first.predict(first.round.adjacency))
    assert torch.equal(both.probabilities, second.predict(second.round.adjacency))
    assert not torch.equal(both.probabilities, alone.probabilities)
    assert both.epochs == alone.epochs + 2 * _EPOCHS
    runs = prepared(task, method, students=2)
    assert runs.max_epochs == prepared(task, method).max_epochs + 2 * _EPOCHS
    assert both.best_epoch == second.best_epoch
    assert both.warning == alone.warning


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_run_goes_on_within_a_round_of_a_student(
    task: Task, method: Method[Any, Any], tmp_path: Path
) -> None:
    runs = prepared(task, method, students=2)
    whole = runs.train(0)
    file = tmp_path / "run.checkpoint"
    for before in (15, 4):  # epochs before the end, in the first student and in the second

        def interrupt(now: Progress, before: int = before) -> None:
            if now.epochs > runs.max_epochs - before:
                assert "student, epoch" in now.note
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            runs.train(0, on_progress=interrupt, checkpoint=Checkpoint(file, "run", seconds=0))
    resumed = runs.train(0, checkpoint=Checkpoint(file, "run", seconds=0))
    assert resumed.earlier_seconds > 0
    assert torch.equal(resumed.probabilities, whole.probabilities)
    assert (resumed.epochs, resumed.warning) == (whole.epochs, whole.warning)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_fitted_classifier_is_the_student(
    task: Task, method: Method[Any, Any], tmp_path: Path
) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=120, num_classes=3, degree=6.0, num_features=30))
    data = make_split(data, "stratified").apply(data)
    taught = copy.copy(method)
    taught.model = ModelSpec.of(GCNConfig(hidden=8))
    taught.training = TrainingConfig(epochs=_EPOCHS, students=1)
    expected = trained(task, method, students=1).probabilities
    classifier = taught.fit(data)
    torch.testing.assert_close(classifier.predict_proba(data), expected)
    classifier.save(tmp_path / "model")
    torch.testing.assert_close(load(tmp_path / "model").predict_proba(data), expected)


class Asked(NoAugmentation):
    """Notes when it is asked for a graph, a loss and what the best epoch is."""

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        self.asked: list[str] = []
        asked = self.asked

        class Run(AugmentedRun):
            def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
                asked.append("graph")
                return batch.adjacency

            def extra_loss(self) -> None:
                asked.append("loss")

            def after_step(self) -> None:
                asked.append("step")

            def on_best(self) -> None:
                asked.append("best")

            def log(self) -> dict[str, float]:
                asked.append("log")
                return {}

        return Run(visible, generator)


def test_the_method_takes_no_part_in_the_rounds_of_students(task: Task) -> None:
    asked = []
    for students in (0, 1):
        run = prepared(task, Asked(), students=students)
        run.train(0, keep_history=True)
        assert isinstance(run.method, Asked)
        asked.append(run.method.asked)
    assert asked[0] == asked[1]
    assert set(asked[0]) == {"graph", "loss", "step", "best", "log"}


def test_a_student_trains_and_predicts_on_the_graphs_of_the_best_round(task: Task) -> None:
    changed = trained(task, GAugM(predictor="ra"), students=1).rounds
    assert changed[-1].round.adjacency is changed[0].round.adjacency
    assert changed[-1].round.adjacency.num_pairs != task.adjacency.num_pairs
    drawn = trained(task, BGCN(graphs=2), students=1).rounds
    assert drawn[-1].round.adjacency is task.adjacency  # not one of those that were drawn
    original = trained(task, GAugO(**_SHORT), students=1).rounds
    assert original[-1].round.adjacency is task.adjacency


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_distance_of_a_step_is_that_of_the_nodes_of_its_batch(
    task: Task, multilabel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch has other nodes, so rows of the wrong ones would be noticed."""
    task = several_labels(task) if multilabel else task
    alone = trained(task, NoAugmentation(), batch_size=5).probabilities
    batches: list[Tensor] = []
    rows: list[Tensor] = []

    def noting(passes: Any, teacher: Tensor, several: bool) -> Tensor:
        assert several == multilabel
        rows.append(teacher)
        return distillation_loss(passes, teacher, several)

    take = Steps.take

    def taken(self: Steps, run: Any, stage: Stage, model: Any, batch: Batch, *rest: Any) -> Any:
        if stage.teacher is not None:
            assert batch.nodes is not None
            batches.append(batch.nodes)
        return take(self, run, stage, model, batch, *rest)

    monkeypatch.setattr(step_loss, "distillation_loss", noting)
    monkeypatch.setattr(Steps, "take", taken)
    trained(task, NoAugmentation(), batch_size=5, students=1)
    assert len(rows) == len(batches) > _EPOCHS
    assert len({tuple(nodes.tolist()) for nodes in batches}) > _EPOCHS
    for nodes, teacher in zip(batches, rows, strict=True):
        assert torch.equal(teacher, alone[nodes])


class Breaking(Slope):
    """Its scores are no numbers from a step of training on, counted over all models."""

    steps = 0

    def __init__(self, in_features: int, num_classes: int, breaks_at: int) -> None:
        super().__init__(in_features, num_classes)
        self.breaks_at = breaks_at

    def classify(self, h: Features, adjacency: Adjacency) -> Tensor:
        scores = super().classify(h, adjacency)
        if not self.training:
            return scores
        type(self).steps += 1
        return scores * torch.nan if type(self).steps >= self.breaks_at else scores


@pytest.mark.parametrize("selection", ["validation", "last"])
@pytest.mark.parametrize("step", [1, 2])
def test_a_student_that_breaks_leaves_what_its_teacher_predicts(selection: str, step: int) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, num_classes=3, num_features=8))
    data.x = data.x.to_dense() if data.x.layout != torch.strided else data.x
    task = Task.of(make_split(data, "stratified").apply(data))
    results = []
    for breaks_at in (10**9, _EPOCHS + step):
        Breaking.steps = 0
        config = TrainingConfig(
            epochs=_EPOCHS, selection=selection, students=0 if breaks_at == 10**9 else 2
        )
        build = functools.partial(Breaking, task.in_features, task.num_classes, breaks_at)
        results.append(train_run(task, build, NoAugmentation(), ModuleConfig(0.05, 0.0), config, 7))
    alone, broken = results
    assert torch.equal(broken.probabilities, alone.probabilities)
    assert broken.test_score == alone.test_score
    assert len(broken.rounds) == 1
    assert broken.warning is not None
    assert f"epoch {step} of a student" in broken.warning
    assert "kept what its teacher predicts" in broken.warning


def test_a_teacher_that_breaks_has_no_student() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, num_classes=3, num_features=8))
    data.x = data.x.to_dense() if data.x.layout != torch.strided else data.x
    task = Task.of(make_split(data, "stratified").apply(data))
    Breaking.steps = 0
    build = functools.partial(Breaking, task.in_features, task.num_classes, 5)
    config = TrainingConfig(epochs=_EPOCHS, students=2)
    result = train_run(task, build, NoAugmentation(), ModuleConfig(0.05, 0.0), config, 7)
    assert len(result.rounds) == 1
    assert result.warning is not None
    assert "and trained no student" in result.warning


def test_a_sum_of_probabilities_a_little_above_1_is_one(task: Task) -> None:
    class Rounded(NoAugmentation):
        def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
            class Run(AugmentedRun):
                def combine(self, results: Any) -> Tensor:
                    return torch.full((120, 3), 1.0 + 1e-6)

            return Run(visible, generator)

    taught = trained(several_labels(task), Rounded(), students=1, consistency_passes=2)
    assert taught.warning is None
    assert bool(torch.isfinite(taught.probabilities).all())


def test_a_stack_asks_its_second_part_for_the_graphs_of_a_student(task: Task) -> None:
    class Elsewhere(DropEdge):
        def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
            run = super().start(visible, generator)
            run.graphs_of_student = lambda results: Round(ring, student=True)  # type: ignore[method-assign]
            return run

    ring = Adjacency.of_pairs(torch.stack([torch.arange(119), torch.arange(1, 120)]), 120)
    alone = trained(task, Elsewhere(), students=1).rounds[-1].round
    assert alone.adjacency is ring
    changing = GAugM(predictor="ra", inference="original")
    stacked = trained(task, Stack(changing, Elsewhere()), students=1).rounds[-1].round
    assert stacked.adjacency is task.adjacency  # predictions are where the first part makes them
    assert stacked.trained_on is ring


def test_students_take_more_memory_and_the_time_of_a_plain_run_each() -> None:
    def needed(students: int) -> int:
        plan = Plan.of("karate", settings=[f"students={students}"])
        return plan_memory(Graphs().place(plan)).run

    assert needed(0) < needed(1) == needed(2)
    slow = Plan.of("karate", method="gaug-o", settings=[])
    plain = estimated_seconds(slow.with_method("none"))
    for students in (1, 2):
        taught = slow.with_settings([f"students={students}"])
        assert estimated_seconds(taught) == pytest.approx(
            estimated_seconds(slow) + students * plain
        )
    training = TrainingConfig(epochs=50, students=2)
    bound = GAUG_O.least_seconds(100, training, 0.1)
    assert bound == pytest.approx(GAUG_O.least_seconds(100, TrainingConfig(epochs=50), 0.1) + 10)


def test_a_batch_that_holds_the_whole_graph_is_full_batch_training(task: Task) -> None:
    spec = ModelSpec.of(GCNConfig(hidden=8, dropout=0.0))
    losses = []
    for batches in ({}, {"batch_size": task.train.numel(), "batch_hops": 30, "validate_every": 1}):
        config = TrainingConfig(epochs=6, students=1, **batches)  # type: ignore[arg-type]
        run = PreparedRuns.prepare(task, spec, NoAugmentation(), config)
        history = run.train(0, keep_history=True).history
        losses.append([row["train_loss"] for row in history])
    # A node that no hop reaches is not in the batch.
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)


def test_a_student_takes_over_what_its_teacher_knows_of_other_nodes() -> None:
    """With few labels, and a teacher that is always right, so that it does not depend on luck."""
    data = planted_graph(
        SyntheticConfig(num_nodes=300, num_classes=3, num_features=40, homophily=0.5)
    )
    task = Task.of(make_split(data, "per-class").apply(data))

    class Knowing(NoAugmentation):
        def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
            class Run(AugmentedRun):
                def combine(self, results: Any) -> Tensor:
                    right = functional.one_hot(task.labels, task.num_classes).float()
                    return 0.1 / task.num_classes + 0.9 * right

            return Run(visible, generator)

    plain = trained(task, NoAugmentation(), epochs=40).test_score
    taught = trained(task, Knowing(), epochs=40, students=1).test_score
    assert plain is not None
    assert taught is not None
    assert taught > plain + 3


# Settings.


def test_wrong_settings_are_refused_and_defaults_are_no_part_of_an_identity() -> None:
    with pytest.raises(ConfigError, match=r"student_weight=0\.5 .* set students, too"):
        TrainingConfig(student_weight=0.5)
    with pytest.raises(ConfigError, match=r"students must be at least 0, got -1"):
        TrainingConfig(students=-1)
    assert not any("student" in name for name in TrainingConfig().identifying())
    placed = [
        Graphs().place(Plan.of("karate", split="stratified", settings=settings))
        for settings in ([], ["students=1"])
    ]
    assert placed[0].identity(0) != placed[1].identity(0)


def test_the_same_seed_gives_the_same_student() -> None:
    data = load_graph("karate")
    one, other = (NoAugmentation(epochs=5, students=1).fit(data) for _ in range(2))
    assert torch.equal(one.predict_proba(data), other.predict_proba(data))
