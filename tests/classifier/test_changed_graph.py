"""A change that is kept: what it was, and what it is on another graph."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

import gaug
from gaug import AdaEdge
from gaug.classifier.changed_graph import ChangedGraphClassifier, carried_over, difference
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.graph.adjacency import Adjacency
from gaug.graph.change import GraphChange
from gaug.graph.edges import undirected_pairs


def pairs(*both: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(both).t().reshape(2, -1)


def graph(*edges: tuple[int, int], num_nodes: int) -> Data:
    return Adjacency.of_pairs(pairs(*edges), num_nodes).to_data()


def test_the_difference_of_two_graphs_is_the_change_between_them() -> None:
    before = Adjacency.of_pairs(pairs((0, 1), (1, 2), (2, 3)), 4)
    after = Adjacency.of_pairs(pairs((0, 1), (0, 3), (1, 3)), 4)
    change = difference(before, after)
    assert change.added.t().tolist() == [[0, 3], [1, 3]]
    assert change.removed.t().tolist() == [[1, 2], [2, 3]]
    assert torch.equal(change.apply(before.to_data()).edge_index, after.to_data().edge_index)


def test_a_change_follows_its_nodes() -> None:
    """Nodes 0, 1, 2, 3 are 4, 2, 0 and gone; 0-2 is there already and 1-2 is not."""
    change = GraphChange(added=pairs((0, 1), (0, 2), (0, 3)), removed=pairs((1, 2), (2, 3)))
    places = torch.tensor([4, 2, 0, -1])
    moved = carried_over(change, places, graph((0, 4), (1, 2), num_nodes=5))
    assert moved.added.t().tolist() == [[2, 4]]
    assert moved.removed.numel() == 0
    moved = carried_over(change, places, graph((0, 2), (1, 3), num_nodes=5))
    assert sorted(moved.added.t().tolist()) == [[0, 4], [2, 4]]
    assert moved.removed.t().tolist() == [[0, 2]]


def test_adaedge_keeps_its_change_and_leaves_new_nodes_alone() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, degree=6.0, num_classes=3))
    fitted = AdaEdge(
        epochs=20, rounds=1, add_confidence=0.0, remove_confidence=0.0, selection="last"
    ).fit(data)
    assert isinstance(fitted, ChangedGraphClassifier)
    assert fitted.change.added.numel() > 0
    joint = torch.tensor([[60, 0], [0, 60]])
    grown = Data(
        x=torch.cat([data.x.to_dense(), data.x.to_dense()[:1]]),
        edge_index=torch.cat([data.edge_index, joint], dim=1),
        num_nodes=61,
    )
    grown = gaug.standardize(grown)[0]

    def edges(given: Data) -> set[tuple[int, int]]:
        return set(map(tuple, undirected_pairs(given.edge_index).t().tolist()))

    changed = fitted.changed(grown)
    expected = edges(data) - set(map(tuple, fitted.change.removed.t().tolist()))
    expected |= set(map(tuple, fitted.change.added.t().tolist())) | {(0, 60)}
    assert edges(changed) == expected
