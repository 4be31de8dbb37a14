"""The consistency loss by hand, and several passes in a step of the loop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gaug import AdaEdge, DropEdge, GAugO, NoAugmentation
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.models.config import GCNConfig
from gaug.models.spec import ModelSpec
from gaug.runs.graphs import Graphs
from gaug.runs.memory import plan_memory
from gaug.runs.plan import Plan
from gaug.training.batch import Batch
from gaug.training.config import TrainingConfig
from gaug.training.consistency import consistency_loss, sharpened
from gaug.training.hooks import AugmentedRun, Round, Visible
from gaug.training.loop import RunResult
from gaug.training.run import PreparedRuns
from gaug.training.task import Task


@pytest.fixture(scope="module")
def task() -> Task:
    data = planted_graph(SyntheticConfig(num_nodes=120, num_classes=3, degree=6.0, num_features=30))
    return Task.of(make_split(data, "stratified").apply(data))


def several_labels(task: Task) -> Task:
    labels = torch.nn.functional.one_hot(task.labels, 3).float()
    return Task(
        task.features, task.adjacency, labels, task.train, task.val, task.test, task.num_classes
    )


def trained(task: Task, method: Any, dropout: float = 0.5, **training: Any) -> RunResult:
    spec = ModelSpec.of(GCNConfig(hidden=8, dropout=dropout))
    config = TrainingConfig(**{"epochs": 12, **training})
    return PreparedRuns.prepare(task, spec, method, config).train(0, keep_history=True)


@pytest.mark.parametrize("temperature", [0.2, 0.5, 1.0])
def test_the_loss_is_the_mean_squared_distance_to_the_sharpened_mean(temperature: float) -> None:
    """Against NumPy, node by node."""
    generator = torch.Generator().manual_seed(0)
    logits = [torch.randn(5, 3, generator=generator) for _ in range(4)]
    passes = [np.exp(one.double().numpy()) for one in logits]
    passes = [one / one.sum(axis=1, keepdims=True) for one in passes]
    mean = sum(passes) / 4
    sharp = mean ** (1 / temperature)
    sharp /= sharp.sum(axis=1, keepdims=True)
    expected = sum(float(((one - sharp) ** 2).sum()) for one in passes) / (4 * 5)
    assert consistency_loss(logits, temperature, False).item() == pytest.approx(expected, rel=1e-5)


def test_with_several_labels_each_is_sharpened_by_itself() -> None:
    p = torch.tensor([[0.2, 0.9], [0.5, 0.7]])
    expected = p**2 / (p**2 + (1 - p) ** 2)
    torch.testing.assert_close(sharpened(p, 0.5, multilabel=True), expected)
    logits = [torch.tensor([[0.3, -1.0]]), torch.tensor([[1.2, 0.4]])]
    one, other = (each.sigmoid() for each in logits)
    target = sharpened((one + other) / 2, 0.5, multilabel=True)
    by_hand = ((one - target) ** 2).sum() / 2 + ((other - target) ** 2).sum() / 2
    torch.testing.assert_close(consistency_loss(logits, 0.5, True), by_hand)


def test_the_target_has_no_gradient() -> None:
    """Against finite differences with the target held fixed."""
    generator = torch.Generator().manual_seed(1)
    logits = [
        torch.randn(3, 4, generator=generator, dtype=torch.float64).requires_grad_()
        for _ in range(2)
    ]
    consistency_loss(logits, 0.5, False).backward()
    mean = (logits[0].softmax(dim=1) + logits[1].softmax(dim=1)).detach() / 2
    target = sharpened(mean, 0.5)

    def fixed(first: Tensor) -> float:
        passes = (first, logits[1].detach())
        return sum(float((p.softmax(dim=1) - target).square().sum()) for p in passes) / 6

    step = 1e-6
    for place in ((0, 0), (1, 3), (2, 2)):
        shift = torch.zeros(3, 4, dtype=torch.float64)
        shift[place] = step
        at = logits[0].detach()
        slope = (fixed(at + shift) - fixed(at - shift)) / (2 * step)
        assert logits[0].grad is not None
        assert logits[0].grad[place].item() == pytest.approx(slope, rel=1e-4, abs=1e-9)


def test_sharpening_certain_predictions_stays_finite() -> None:
    certain = torch.tensor([[1.0, 0.0]])
    for multilabel in (False, True):
        torch.testing.assert_close(sharpened(certain, 0.1, multilabel), certain, atol=1e-6, rtol=0)


@pytest.mark.parametrize("multilabel", [False, True])
def test_passes_that_agree_change_nothing(task: Task, multilabel: bool) -> None:
    """Without dropout and with one graph, at a temperature of 1, the target is each pass."""
    task = several_labels(task) if multilabel else task
    plain = trained(task, NoAugmentation(), dropout=0.0)
    several = trained(
        task, NoAugmentation(), 0.0, consistency_passes=3, consistency_temperature=1.0
    )
    torch.testing.assert_close(several.probabilities, plain.probabilities, rtol=1e-4, atol=1e-5)


def test_the_loss_of_a_step_is_the_plain_one_and_the_weighted_distance(task: Task) -> None:
    """With steps too small to change the weights, which the run can then be asked about.

    The weight rises from epoch to epoch.
    """
    spec = ModelSpec.of(GCNConfig(hidden=8, dropout=0.0, learning_rate=1e-12))

    def four_epochs(**consistency: Any) -> RunResult:
        config = TrainingConfig(epochs=4, selection="last", **consistency)
        return PreparedRuns.prepare(task, spec, NoAugmentation(), config).train(
            0, keep_history=True
        )

    asked = {"consistency_weight": 0.7, "consistency_temperature": 0.5}
    plain, several = four_epochs(), four_epochs(consistency_passes=2, **asked)
    p = plain.rounds[0].predict(task.adjacency)
    squared = p**2 / (p**2).sum(dim=1, keepdim=True)  # by the temperature of one half
    apart = (p - squared).square().sum(dim=1).mean().item()
    assert apart > 1e-4
    for epoch, (one, other) in enumerate(zip(several.history, plain.history, strict=True), 1):
        gap = one["train_loss"] - other["train_loss"]
        assert gap == pytest.approx(epoch / 4 * 0.7 * apart, rel=1e-2)


class Noting(NoAugmentation):
    """Notes the epochs in which it is asked for a graph."""

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        self.asked: list[int] = []
        asked = self.asked

        class Run(AugmentedRun):
            def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
                asked.append(epoch)
                return batch.adjacency

        return Run(visible, generator)


def test_each_pass_asks_the_method_for_a_graph(task: Task) -> None:
    method = Noting()
    trained(task, method, epochs=3, consistency_passes=4)
    assert method.asked == [1] * 4 + [2] * 4 + [3] * 4


@pytest.mark.parametrize(
    "method",
    [
        DropEdge(),
        AdaEdge(rounds=1),
        GAugO(pretrain_predictor_epochs=3, pretrain_classifier_epochs=3),
    ],
    ids=repr,
)
def test_every_method_trains_with_it_and_the_same_seed_gives_the_same_run(
    task: Task, method: Any
) -> None:
    first, again = (trained(task, method, consistency_passes=2) for _ in range(2))
    assert torch.equal(first.probabilities, again.probabilities)
    assert all(math.isfinite(row["train_loss"]) for row in first.history)
    assert not torch.equal(first.probabilities, trained(task, method).probabilities)


def test_a_batch_that_holds_the_whole_graph_is_full_batch_training(task: Task) -> None:
    asked: dict[str, Any] = {"consistency_passes": 2, "epochs": 5}
    plain = trained(task, NoAugmentation(), dropout=0.0, **asked)
    batched = trained(
        task, NoAugmentation(), dropout=0.0, batch_size=task.train.numel(), batch_hops=30,
        validate_every=1, **asked,
    )  # fmt: skip
    losses = [[row["train_loss"] for row in run.history] for run in (plain, batched)]
    # A node that no hop reaches is not in the batch.
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)


def test_it_draws_predictions_of_different_dropout_together(task: Task) -> None:
    """The reason for it: predictions with dropout differ less after training with it."""

    def spread(result: RunResult) -> float:
        last = result.rounds[-1]
        torch.manual_seed(0)
        drawn = [last.predict(task.adjacency, dropout=True) for _ in range(20)]
        return float(torch.stack(drawn).std(dim=0).mean())

    plain = trained(task, NoAugmentation(), epochs=60, selection="last")
    asked = {"consistency_passes": 4, "consistency_weight": 50.0, "consistency_temperature": 1.0}
    assert spread(trained(task, NoAugmentation(), epochs=60, selection="last", **asked)) < spread(
        plain
    )


def test_wrong_settings_are_refused_and_defaults_are_no_part_of_an_identity() -> None:
    with pytest.raises(ConfigError, match="consistency_passes must be 0 or at least 2, got 1"):
        TrainingConfig(consistency_passes=1)
    with pytest.raises(
        ConfigError, match=r"consistency_weight=0\.7 .* set consistency_passes, too"
    ):
        TrainingConfig(consistency_weight=0.7)
    with pytest.raises(ConfigError, match=r"consistency_temperature must be in \(0, 1\], got 2"):
        TrainingConfig(consistency_passes=2, consistency_temperature=2.0)
    assert not any("consistency" in name for name in TrainingConfig().identifying())


def test_more_passes_take_more_memory() -> None:
    def needed(passes: int) -> int:
        plan = Plan.of("karate", method="dropedge", settings=[f"consistency_passes={passes}"])
        return plan_memory(Graphs().place(plan)).run

    assert needed(0) < needed(2) < needed(4)
