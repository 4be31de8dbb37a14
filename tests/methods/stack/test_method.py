"""A stack trains as its second part would on the graph of its first."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug import (
    BGCN,
    AdaEdge,
    DropEdge,
    GAugM,
    GAugO,
    Method,
    NoAugmentation,
    Stack,
    evaluate,
    planted_graph,
)
from gaug.classifier.mended_graph import MendedGraphClassifier
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig
from gaug.errors import ConfigError, DataError
from gaug.graph.change import GraphChange
from gaug.graph.edges import pair_keys
from gaug.methods.registry import METHODS
from gaug.methods.spec import MethodSpec
from gaug.models.spec import ModelSpec
from gaug.studies.fixed_change import FixedChange
from gaug.training.config import TrainingConfig
from gaug.training.hooks import best_round
from gaug.training.loop import RunResult
from gaug.training.run import PreparedRuns
from gaug.training.task import Task
from tests.batch_of import whole_batch

SHORT = TrainingConfig(epochs=12)


@pytest.fixture(scope="module")
def data() -> Data:
    graph = planted_graph(
        SyntheticConfig(num_nodes=120, num_classes=3, degree=5.0, num_features=30)
    )
    return make_split(graph, "stratified").apply(graph)


def varying() -> list[Method[Any, Any]]:
    return [
        DropEdge(drop_fraction=0.3),
        GAugO(alpha=0.4, pretrain_predictor_epochs=4, pretrain_classifier_epochs=3),
    ]


def trained(data: Data, method: Method[Any, Any], model: str = "gcn", **training: Any) -> RunResult:
    loop = TrainingConfig(**{"epochs": 12, **training})
    runs = PreparedRuns.prepare(Task.of(data), ModelSpec.of(model), method, loop, seed=5)
    return runs.train(1, keep_history=True)


@pytest.mark.parametrize("batches", [{}, {"batch_size": 15, "fanout": 3}])
@pytest.mark.parametrize("second", [0, 1])
@pytest.mark.parametrize("model", ["gcn", "gat"])
def test_after_gaug_m_it_is_the_second_method_on_the_mended_graph(
    data: Data, second: int, model: str, batches: dict[str, Any]
) -> None:
    """To the last bit, against the transform and the second method alone."""
    mended = GAugM(predictor="features", seed=5)(data)
    del mended.added_edges, mended.removed_edges, mended.added_logits, mended.removed_logits
    expected = trained(mended, varying()[second], model, **batches)
    stack = Stack(GAugM(predictor="features"), varying()[second])
    found = trained(data, stack, model, **batches)
    assert torch.equal(found.probabilities, expected.probabilities)
    assert str(found.history) == str(expected.history)
    assert (found.val_score, found.best_epoch, found.epochs) == (
        expected.val_score,
        expected.best_epoch,
        expected.epochs,
    )


@pytest.mark.parametrize("second", [0, 1])
def test_after_adaedge_it_trains_on_the_graph_of_its_best_round(data: Data, second: int) -> None:
    ada: dict[str, Any] = {"rounds": 3, "add_confidence": 0.4, "remove_confidence": 0.4}
    alone = trained(data, AdaEdge(**ada))
    found = trained(data, Stack(AdaEdge(**ada), varying()[second]))
    before = [one for one in found.rounds if one.round.preliminary]
    assert [(one.val_score, one.val_loss) for one in before] == [
        (one.val_score, one.val_loss) for one in alone.rounds
    ]
    after = best_round(found.rounds).round
    assert not after.preliminary
    assert torch.equal(after.adjacency.pairs, best_round(alone.rounds).round.adjacency.pairs)
    # Its result is that of the second part, even if a round of the first was better.
    assert found.best_epoch == next(one for one in found.rounds if one.round is after).best_epoch
    drawn = [row["edges"] for row in found.history[sum(1 for _ in alone.history) :]]
    if second == 0:
        kept = after.adjacency.num_pairs - int(0.3 * after.adjacency.num_pairs)
        assert set(drawn) == {kept}


def test_an_edge_that_was_added_may_be_dropped_and_a_removed_one_never_returns(data: Data) -> None:
    edges = {tuple(pair) for pair in data.edge_index.t().tolist() if pair[0] < pair[1]}
    free = next((0, v) for v in range(1, 120) if (0, v) not in edges)
    gone = min(edges)
    change = GraphChange(torch.tensor([free]).t(), torch.tensor([gone]).t())
    method = Stack(FixedChange(change), DropEdge(drop_fraction=0.5))
    task = Task.of(data)
    prepared = method.prepare(task.visible(), 0)
    run = prepared.start(task.visible(), torch.Generator().manual_seed(0))
    current = run.next_round(None)
    assert current is not None
    batch = whole_batch(task, current.adjacency)
    seen = set()
    for epoch in range(1, 30):
        graph = run.training_graph(current, batch, epoch)
        seen |= {tuple(pair) for pair in graph.pairs.t().tolist()}
    assert seen == (edges | {free}) - {gone}


def test_with_inference_on_the_original_graph_only_training_is_on_the_mended_one(
    data: Data,
) -> None:
    first = GAugM(predictor="ra", inference="original")
    task = Task.of(data)
    runs = PreparedRuns.prepare(task, ModelSpec.of("gcn"), Stack(first, DropEdge()), SHORT)
    current = best_round(runs.train(0).rounds).round
    assert current.adjacency is task.adjacency
    assert current.trained_on is not None
    mended = GAugM(predictor="ra")(data)
    assert current.trained_on.num_pairs == mended.num_edges // 2


def test_by_name_in_python_and_by_settings_it_is_the_same_run(data: Data) -> None:
    by_name = evaluate(
        data, method="gaug-m+dropedge", runs=2, epochs=4, predictor="ra", drop_fraction=0.2
    )
    stack = Stack(GAugM(predictor="ra"), DropEdge(drop_fraction=0.2), epochs=4)
    in_python = evaluate(data, method=stack, runs=2)
    assert by_name.scores == in_python.scores
    assert [one.identity for one in by_name.records] == [one.identity for one in in_python.records]
    assert {one.method for one in by_name.records} == {"gaug-m+dropedge"}


def test_workers_give_the_same_runs(data: Data) -> None:
    options: dict[str, Any] = {"method": "gaug-m+dropedge", "epochs": 3, "predictor": "ra"}
    one, two = (evaluate(data, runs=2, workers=workers, **options) for workers in (1, 2))
    assert one.scores == two.scores


class CloseIds:
    def fit(self, data: Data) -> None:
        pass

    def edge_logits(self, pairs: Tensor) -> Tensor:
        return -(pairs[0] - pairs[1]).abs()


def test_a_predictor_of_a_user_stays_a_part_of_the_stack(data: Data) -> None:
    stack = Stack(GAugM(predictor=CloseIds()), DropEdge(), training=SHORT)
    spec = MethodSpec.of(stack)
    assert spec.instance is stack
    fitted = stack.fit(data)
    assert isinstance(fitted, MendedGraphClassifier)
    change = fitted.change
    assert int((change.added[0] - change.added[1]).abs().max()) < 10
    assert MethodSpec.of(Stack(GAugM(), DropEdge())).instance is None


def test_the_classifier_mends_a_grown_graph_as_gaug_m_alone_does(data: Data) -> None:
    grown = Data(
        x=torch.cat([data.x.to_dense(), data.x.to_dense()[:3]]),
        edge_index=torch.cat([data.edge_index, torch.tensor([[120, 0], [0, 120]])], dim=1),
        num_nodes=123,
    )
    alone = GAugM(predictor="features", training=SHORT).fit(data)
    stacked = Stack(GAugM(predictor="features"), DropEdge(), training=SHORT).fit(data)
    assert type(stacked) is type(alone)
    ours, theirs = (
        set(pair_keys(fitted.augmented(grown).edge_index, 123).tolist())
        for fitted in (stacked, alone)
    )
    assert ours == theirs
    assert not torch.equal(stacked.predict_proba(grown), alone.predict_proba(grown))


def test_a_fit_leaves_the_stack_and_its_parts_as_they_were(data: Data) -> None:
    first, second = GAugM(predictor="ra"), DropEdge()
    stack = Stack(first, second, training=SHORT)
    before = repr(stack), vars(first).copy(), vars(second).copy()
    stack.fit(data)
    assert (repr(stack), vars(first), vars(second)) == before


def test_warnings_of_both_parts_are_told(data: Data) -> None:
    first = GAugM(add_fraction=0, remove_fraction=0, predictor="ra")
    result = trained(data, Stack(first, DropEdge(drop_fraction=0)))
    assert result.warning is not None
    assert "GAug-M changed no edge" in result.warning
    assert "DropEdge changed no edge" in result.warning


def test_a_first_part_that_breaks_leaves_its_best_weights(data: Data) -> None:
    """The loss of the second epoch is not a number: no other round follows."""

    class Breaking(torch.nn.Linear):
        calls = 0

        def __init__(self, in_features: int, num_classes: int) -> None:
            super().__init__(in_features, num_classes)

        def forward(self, x: Tensor, edge_index: Any = None, edge_weight: Any = None) -> Tensor:
            Breaking.calls += self.training
            scores = super().forward(x.to_dense())
            return scores * torch.nan if self.training and Breaking.calls > 1 else scores

    runs = PreparedRuns.prepare(
        Task.of(data), ModelSpec.of(Breaking), Stack(AdaEdge(), DropEdge()), SHORT
    )
    result = runs.train(0)
    assert len(result.rounds) == 1
    assert result.best_epoch == 1
    assert result.warning is not None
    assert "kept the best weights so far" in result.warning


def test_gaug_o_refuses_edge_weights_before_anything_trains(data: Data) -> None:
    weighted = data.clone()
    weighted.edge_weight = torch.ones(weighted.num_edges)
    for first in (AdaEdge(), GAugM(predictor="ra")):
        with pytest.raises(DataError, match="has edge weights"):
            Stack(first, GAugO()).prepare(Task.of(weighted).visible(), 0)


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ((DropEdge(), GAugO()), {}, "each part varies the graph in each epoch"),
        ((BGCN(), DropEdge()), {}, "bgcn does neither"),
        ((GAugM(), NoAugmentation()), {}, "none does neither"),
        ((GAugM(), "dropedge"), {}, "A part of a stack must be a method, .* got 'dropedge'"),
        ((GAugM(epochs=5), DropEdge()), {}, "Model, training and seed are those of the stack, but"),
        ((GAugM(), DropEdge(seed=3)), {}, "but DropEdge has its own"),
        ((GAugM(), DropEdge()), {"drop_fraction": 0.1}, "Give it to that part"),
        ((GAugM(), DropEdge()), {"bogus": 1}, "Unknown setting 'bogus'"),
    ],
)
def test_what_cannot_be_stacked_is_refused(parts: Any, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Stack(*parts, **options)


def test_it_promises_no_more_epochs_than_its_parts_take() -> None:
    ada = AdaEdge(rounds=2)
    assert Stack(GAugM(), DropEdge()).max_epochs(100) == 100
    assert Stack(ada, DropEdge()).max_epochs(100) == 400
    assert METHODS.class_of("gaug-m+dropedge") is Stack
