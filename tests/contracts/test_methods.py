"""What every method promises, checked for each one by name; and that the checks can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from gaug import GAugM, Method, MethodConfig, NodeClassifier
from gaug.graph.adjacency import Adjacency
from gaug.methods.registry import METHODS
from gaug.methods.spec import MethodSpec
from gaug.testing import check_method
from gaug.training.batch import Batch
from gaug.training.hooks import AugmentedRun, Round, Visible

FEWER: dict[str, dict[str, Any]] = {
    "adaedge": {"rounds": 2},
    "bgcn": {"graphs": 2, "block_steps": 5},
    "gaug-o": {"pretrain_predictor_epochs": 5, "pretrain_classifier_epochs": 5},
}


def fewer(name: str) -> dict[str, Any]:
    """Settings that make a method, or both parts of a stack, quick."""
    return {key: value for part in name.split("+") for key, value in FEWER.get(part, {}).items()}


@pytest.mark.parametrize("name", METHODS)
def test_a_registered_method_keeps_its_promises(name: str) -> None:
    check_method(MethodSpec.of(METHODS.config_type(name)(**fewer(name))).build())


class CloseIds:
    def fit(self, data: Any) -> None:
        pass

    def edge_logits(self, pairs: Tensor) -> Tensor:
        return -(pairs[0] - pairs[1]).abs()


@pytest.mark.filterwarnings("ignore:A control, not a method")
@pytest.mark.parametrize("predictor", [CloseIds(), "omniscient"])
def test_so_does_gaug_m_with_a_predictor_of_another_kind(predictor: Any) -> None:
    check_method(GAugM(predictor=predictor))


@dataclass(frozen=True)
class BadConfig(MethodConfig):
    name: ClassVar[str] = "bad"
    title: ClassVar[str] = "bad"


class Bad(Method[BadConfig]):
    config_type = BadConfig
    run: type[AugmentedRun] = AugmentedRun

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        return self.run(visible, generator)


class DrawsGlobally(AugmentedRun):
    def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
        with torch.random.fork_rng():
            torch.seed()  # a new one each time
            return current.adjacency.keep_pairs(torch.rand(current.adjacency.num_pairs) > 0.5)


class TooManyRounds(AugmentedRun):
    rounds = 0

    def next_round(self, previous: Any) -> Round | None:
        self.rounds += 1
        return Round(self.visible.adjacency) if self.rounds < 3 else None


class OwnClassifier(NodeClassifier):
    pass


def bad(run: type[AugmentedRun]) -> Bad:
    method = Bad()
    method.run = run
    return method


def test_a_run_that_the_seed_does_not_decide_is_found() -> None:
    with pytest.raises(AssertionError, match="Bad must give the same run for the same seed"):
        check_method(bad(DrawsGlobally))


def test_more_epochs_than_promised_are_found() -> None:
    with pytest.raises(AssertionError, match=r"max_epochs of Bad must be at least .* 24, got 12"):
        check_method(bad(TooManyRounds))


def test_a_method_that_reads_hidden_labels_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees labels of validation nodes by a trick that no method should try."""
    from gaug.training.task import Task

    visible = Task.visible
    monkeypatch.setattr(
        Task, "visible", lambda task, all_labels=False: visible(task, all_labels=True)
    )

    class ByLabels(AugmentedRun):
        def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
            labels = self.visible.labels
            ends = (labels if batch.nodes is None else labels[batch.nodes])[batch.adjacency.pairs]
            return batch.adjacency.keep_pairs(ends[0] == ends[1])

    with pytest.raises(AssertionError, match="must not depend on labels of validation and test"):
        check_method(bad(ByLabels))


def test_a_classifier_of_another_type_is_found() -> None:
    class Wrong(Bad):
        classifier_type = OwnClassifier

        def _classifier(self, trained: Any) -> NodeClassifier:
            return NodeClassifier(trained.fitted())

    with pytest.raises(AssertionError, match="classifier_type of Wrong must be the class that fit"):
        check_method(Wrong())
