"""AdaEdge: the edges of one change by hand, the order of its halves, and when rounds stop."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from gaug import GCN, AdaEdge, AdaEdgeConfig, GCNConfig
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.methods.adaedge.method import find_change
from gaug.models.config import ModuleConfig
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun, RoundResult, Visible
from gaug.training.loop import RunResult, train_run
from gaug.training.task import Task

Pair = tuple[int, int]


def graph_of(
    pairs: list[Pair], num_nodes: int = 6, weights: list[float] | None = None
) -> Adjacency:
    both = sorted(pairs + [(v, u) for u, v in pairs])
    data = Data(edge_index=torch.tensor(both).t().contiguous(), num_nodes=num_nodes)
    if weights is not None:
        weight_of = dict(zip(pairs, weights, strict=True))
        data.edge_weight = torch.tensor([weight_of[min(u, v), max(u, v)] for u, v in both])
    return Adjacency.of(data)


def as_list(pairs: Tensor) -> list[Pair]:
    return [(u, v) for u, v in pairs.t().tolist()]


def pairs_of(adjacency: Adjacency) -> set[Pair]:
    return {(u, v) for u, v in adjacency.edge_index.t().tolist() if u < v}


def probabilities_of(labels: list[int], confidence: list[float]) -> Tensor:
    """Two classes, each node with the given class and the given probability of it."""
    sure = torch.tensor(confidence).unsqueeze(1)
    chosen = functional.one_hot(torch.tensor(labels), 2)
    return torch.where(chosen == 1, sure, 1 - sure)


EDGES = [(0, 1), (0, 5), (1, 2), (1, 4), (2, 3), (3, 4)]
# node                                0    1    2    3     4    5
SIX = probabilities_of(labels=[0, 0, 0, 1, 1, 1], confidence=[0.9, 0.8, 0.6, 0.95, 0.7, 0.7])


class Fixed:
    """Predicts the same whatever the graph."""

    def __init__(self, probabilities: Tensor) -> None:
        self.probabilities = probabilities

    def __call__(self, adjacency: Adjacency, *, dropout: bool = False) -> Tensor:
        return self.probabilities


# Non-edges within a class: (3, 5) with min(0.95, 0.7) = 0.7, (4, 5) with 0.7 and a lower hash,
# (0, 2) with 0.6. Edges between classes: (0, 5) with min(0.9, 0.7) = 0.7, (1, 4) with 0.7 and a
# lower hash, (2, 3) with 0.6. A share of 0.5 of 6 edges is 3, 0.4 is 2 (2.4), 0.2 is 1, 0.16 none
# (0.96).
SAME = [(4, 5), (3, 5), (0, 2)]
DIFFERENT = [(1, 4), (0, 5), (2, 3)]


@pytest.mark.parametrize(
    ("settings", "added", "removed"),
    [
        ({"add_fraction": 0.5, "remove_fraction": 0.5}, SAME, DIFFERENT),
        ({"add_fraction": 0.4, "remove_fraction": 0.2}, SAME[:2], DIFFERENT[:1]),
        ({"add_fraction": 0.2, "remove_fraction": 0.4}, SAME[:1], DIFFERENT[:2]),
        ({"add_fraction": 0.16, "remove_fraction": 0.0}, [], []),
        ({"add_confidence": 0.65}, SAME[:2], DIFFERENT),
        ({"remove_confidence": 0.65}, SAME, DIFFERENT[:2]),
        ({"add_confidence": 0.71, "remove_confidence": 0.71}, [], []),
    ],
)
def test_the_change_of_six_nodes_by_hand(
    settings: dict[str, Any], added: list[Pair], removed: list[Pair]
) -> None:
    config = AdaEdgeConfig(**{"add_fraction": 1.0, "remove_fraction": 1.0, **settings})
    change = find_change(Fixed(SIX), graph_of(EDGES), 6, config)
    assert as_list(change.added) == added
    assert as_list(change.removed) == removed


class ByDegree:
    """Takes nodes with many neighbors for class 1, all with the same confidence."""

    def __init__(self, many: int) -> None:
        self.many = many

    def __call__(self, adjacency: Adjacency, *, dropout: bool = False) -> Tensor:
        degree = torch.bincount(adjacency.edge_index[0], minlength=adjacency.num_nodes)
        labels = (degree >= self.many).long().tolist()
        return probabilities_of(labels, [0.9] * adjacency.num_nodes)


STAR = [(0, 1), (0, 2), (0, 3)]


def test_the_second_half_predicts_on_the_graph_of_the_first() -> None:
    """Two neighbors are many: the center 0 is of class 1, the leaves are of class 0.

    Adding first joins the leaves 1 and 3, the pair with the lowest hash. Both have two neighbors
    then and are of class 1 as the center is, and only 0-2 is left between classes. Removing first
    takes 0-1, 0-2 and 0-3 away: all four are of class 0 then, and of the pairs that were no edges
    (1, 3) has the lowest hash.
    """
    star = graph_of(STAR, num_nodes=4)
    add_first = AdaEdgeConfig(order="add-first", add_fraction=0.34, remove_fraction=1.0)
    change = find_change(ByDegree(2), star, 3, add_first)
    assert as_list(change.added) == [(1, 3)]
    assert as_list(change.removed) == [(0, 2)]
    remove_first = AdaEdgeConfig(order="remove-first", add_fraction=0.34, remove_fraction=1.0)
    change = find_change(ByDegree(2), star, 3, remove_first)
    assert as_list(change.removed) == [(0, 3), (0, 1), (0, 2)]
    assert as_list(change.added) == [(1, 3)]


def test_what_one_half_does_the_other_does_not_undo() -> None:
    """Three neighbors are many.

    Adding first joins 1-3 and 1-2. Node 1 is of class 1 then and 2 and 3 are not, but 1-2 and 1-3
    are new and stay; 0-2 and 0-3 go. Removing first leaves all nodes in class 0, and what was
    removed is not added again.
    """
    star = graph_of(STAR, num_nodes=4)
    add_first = AdaEdgeConfig(order="add-first", add_fraction=0.67, remove_fraction=1.0)
    change = find_change(ByDegree(3), star, 3, add_first)
    assert as_list(change.added) == [(1, 3), (1, 2)]
    assert as_list(change.removed) == [(0, 3), (0, 2)]
    remove_first = AdaEdgeConfig(order="remove-first", add_fraction=1.0, remove_fraction=1.0)
    change = find_change(ByDegree(3), star, 3, remove_first)
    assert as_list(change.removed) == [(0, 3), (0, 1), (0, 2)]
    assert as_list(change.added) == [(1, 3), (1, 2), (2, 3)]


def start(adjacency: Adjacency, config: AdaEdgeConfig | None = None) -> AugmentedRun:
    labels = torch.full((adjacency.num_nodes,), -1)
    visible = Visible(torch.eye(adjacency.num_nodes), adjacency, labels, torch.tensor([0, 3]), 2)
    return AdaEdge(config).start(visible, torch.Generator())


def play(run: AugmentedRun, scores: list[tuple[float, float]]) -> list[RoundResult]:
    """Go through rounds that come to the given validation scores and losses, until it stops."""
    results: list[RoundResult] = []
    current = run.next_round(None)
    while current is not None:
        predict = Fixed(SIX + 0.001 * len(results))  # to tell by what round a prediction is
        results.append(RoundResult(current, *scores[len(results)], predict))
        current = run.next_round(results[-1])
    return results


EAGER = AdaEdgeConfig(add_fraction=0.2, remove_fraction=0.2, rounds=3)  # one and one of six edges


def test_each_round_trains_on_the_changed_graph_of_the_round_before() -> None:
    results = play(start(graph_of(EDGES), EAGER), [(50, 1), (60, 1), (70, 1), (80, 1)])
    graphs = [pairs_of(result.round.adjacency) for result in results]
    assert graphs[0] == set(EDGES)
    assert graphs[1] == graphs[0] - {(1, 4)} | {(4, 5)}
    assert graphs[2] == graphs[1] - {(0, 5)} | {(3, 5)}
    assert graphs[3] == graphs[2] - {(2, 3)} | {(0, 2)}
    assert not any(result.round.keep_weights for result in results)


@pytest.mark.parametrize(
    ("scores", "rounds", "best"),
    [
        ([(50, 1), (40, 1)], 2, 0),  # the first change does harm
        ([(50, 1), (60, 1), (55, 1)], 3, 1),
        ([(50, 1), (50, 0.9), (50, 0.9)], 3, 1),  # equal scores: the lower loss, and no better
        ([(50, 1), (60, 1), (70, 1), (80, 1)], 4, 3),  # three changes are the most
        ([(math.nan, math.nan)] * 4, 4, 3),  # nothing is chosen by validation: the last
    ],
)
def test_rounds_go_on_while_validation_improves_and_the_best_counts(
    scores: list[tuple[float, float]], rounds: int, best: int
) -> None:
    run = start(graph_of(EDGES), EAGER)
    results = play(run, scores)
    assert len(results) == rounds
    assert torch.equal(run.combine(results), SIX + 0.001 * best)


def test_rounds_stop_when_there_is_nothing_left_to_change() -> None:
    greedy = AdaEdgeConfig(add_fraction=1.0, remove_fraction=1.0, rounds=9)
    run = start(graph_of(EDGES), greedy)
    results = play(run, [(50, 1), (60, 1), (70, 1)])
    assert len(results) == 2
    assert run.warning is None


@pytest.mark.parametrize(
    "settings",
    [
        {"add_confidence": 0.96, "remove_confidence": 0.96},
        {"add_fraction": 0.1, "remove_fraction": 0.1},
        {"add_fraction": 0.0, "remove_fraction": 0.0},
    ],
)
def test_a_run_that_changed_no_edge_says_so(settings: dict[str, Any]) -> None:
    run = start(graph_of(EDGES), AdaEdgeConfig(**settings))
    assert len(play(run, [(50, 1)])) == 1
    assert run.warning is not None
    assert run.warning.startswith("AdaEdge changed no edge: add_fraction=")
    assert "of 6 edges" in run.warning
    assert run.warning.endswith("Raise a fraction or lower a confidence.")


def test_kept_edges_keep_their_weights_and_new_ones_weigh_one() -> None:
    weighted = graph_of(EDGES, weights=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    changed = play(start(weighted, EAGER), [(50, 1), (40, 1)])[1].round.adjacency
    assert changed.weight is not None
    weight_of = {
        (u, v): pytest.approx(weight)
        for (u, v), weight in zip(changed.edge_index.t().tolist(), changed.weight, strict=True)
    }
    once = {(0, 1): 0.1, (0, 5): 0.2, (1, 2): 0.3, (2, 3): 0.5, (3, 4): 0.6, (4, 5): 1.0}
    assert weight_of == once | {(v, u): weight for (u, v), weight in once.items()}


def train(task: Task, config: AdaEdgeConfig) -> RunResult:
    return train_run(
        task,
        lambda: GCN(task.in_features, task.num_classes, GCNConfig(hidden=16)),
        AdaEdge(config),
        ModuleConfig(0.01, 5e-4),
        TrainingConfig(epochs=40),
        0,
        keep_history=True,
    )


def test_the_best_round_is_what_is_predicted_on_its_own_graph() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=200, homophily=0.7))
    task = Task.of(make_split(data, "stratified", SplitConfig()).apply(data))
    result = train(task, AdaEdgeConfig(add_fraction=0.3, remove_fraction=0.3, rounds=2))
    best = max(result.rounds, key=lambda done: (done.val_score, -done.val_loss))
    assert torch.equal(result.probabilities, best.predict(best.round.adjacency))
    assert result.val_score == pytest.approx(best.val_score)
    assert len(result.rounds) > 1
    changed = pairs_of(result.rounds[1].round.adjacency)
    original = pairs_of(task.adjacency)
    last = next(row for row in result.history if row["epoch"] == 41)  # of the second round
    assert len(changed - original) == last["num_added"] > 0
    assert len(original - changed) == last["num_removed"] > 0


def test_the_chosen_epoch_is_that_of_the_best_round_not_of_the_last() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=200, homophily=0.7))
    task = Task.of(make_split(data, "stratified", SplitConfig()).apply(data))
    result = train(task, AdaEdgeConfig(add_fraction=0.3, remove_fraction=0.3, rounds=9))
    scores = [(row["val_score"], -row["val_loss"]) for row in result.history]
    rounds = [scores[start : start + 40] for start in range(0, len(scores), 40)]
    assert len(rounds) == len(result.rounds) > 1
    assert max(rounds[-1]) < max(scores)  # it ended because the last one did not improve
    best = max(rounds, key=max)
    assert best[result.best_epoch - 1] == max(best)


def test_a_graph_with_several_labels_a_node_is_changed_too() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=120, homophily=0.9))
    first = functional.one_hot(data.y, 4)
    data.y = (first + functional.one_hot((data.y + 1) % 4, 4)).float()
    task = Task.of(make_split(data, "random", SplitConfig()).apply(data))
    result = train(task, AdaEdgeConfig(rounds=1))
    assert pairs_of(result.rounds[1].round.adjacency) != pairs_of(task.adjacency)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"add_confidence": 1.1}, r"add_confidence must be in \[0, 1\], got 1.1"),
        ({"remove_confidence": -0.2}, r"remove_confidence must be in \[0, 1\], got -0.2"),
        ({"add_fraction": -1.0}, r"add_fraction must be in \[0, 1\], got -1"),
        ({"remove_fraction": 2}, r"remove_fraction must be in \[0, 1\], got 2"),
        ({"order": "add_first"}, "Unknown order 'add_first'. Choose from: add-first, remove-first"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AdaEdgeConfig(**settings)
