"""The model card: its sentences and tables say what is so."""

from __future__ import annotations

import dataclasses
import math
import re

import networkx
import pytest
import torch
from torch_geometric.data import Data

from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.opening import open_graph
from gaug.data.splits import Split, make_split
from gaug.methods.none.method import NoAugmentation
from gaug.report.model_facts import FittedModel, caveats
from gaug.report.model_page import model_page
from gaug.report.model_scores import judge
from tests.report.page.test_html import read


def fitted(graph: LoadedGraph, split: Split, epochs: int = 5) -> FittedModel:
    classifier = NoAugmentation(model="gcn", epochs=epochs).fit(split.apply(graph.data))
    predicted = classifier.predict_proba(graph.data)
    return FittedModel(classifier, graph, split, predicted, {}, 1.0, "folder")


@pytest.fixture(scope="module")
def karate() -> FittedModel:
    graph = open_graph("karate")
    return fitted(graph, make_split(graph.data, "stratified"))


@pytest.fixture(scope="module")
def multilabel() -> FittedModel:
    """A ring of nodes with two of three classes."""
    ring: networkx.Graph[int] = networkx.cycle_graph(40)
    pairs = torch.tensor(list(ring.edges)).t()
    y = torch.zeros(40, 3)
    y[:20, 0] = y[10:, 1] = y[::4, 2] = 1
    data = Data(x=torch.eye(40), edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), y=y)
    graph = LoadedGraph("ring", data, NodeIds([f"n{i}" for i in range(40)]), ("a", "b", "c"))
    part = torch.arange(40) % 4
    train, val = (part < 2).nonzero().flatten(), (part == 2).nonzero().flatten()
    return fitted(graph, Split("parts", train, val, (part == 3).nonzero().flatten()))


@pytest.mark.parametrize("epochs", [1, 100])
def test_a_score_from_few_nodes_has_an_interval(epochs: int) -> None:
    graph = open_graph("karate")
    model = fitted(graph, make_split(graph.data, "stratified"), epochs)
    nodes, score = model.split.test.numel(), model.classifier.summary.test_score
    assert score is not None
    told = " ".join(caveats(model))
    share = round(score / 100 * nodes) / nodes
    found = re.search(rf"comes from {nodes} nodes.* from (\d+) to (\d+) %", told)
    assert found is not None
    # Wilson (1927): the shares from which the given one is z standard errors away.
    z = 1.959964
    center, half = (
        share + z**2 / (2 * nodes),
        z * math.sqrt(share * (1 - share) / nodes + z**2 / (4 * nodes**2)),
    )
    low, high = ((center + sign * half) / (1 + z**2 / nodes) for sign in (-1, 1))
    assert (int(found[1]), int(found[2])) == (round(100 * low), round(100 * high))


def test_classes_that_are_never_predicted_are_told(karate: FittedModel) -> None:
    one_class = torch.zeros_like(karate.probabilities)
    one_class[:, 0] = 1
    judged = judge(dataclasses.replace(karate, probabilities=one_class))
    assert judged is not None
    assert judged.never_predicted == 1
    assert "Of 2 classes, 1 that test nodes have was never predicted there." in caveats(
        karate, None, judged.never_predicted
    )
    assert not any("never predicted" in line for line in caveats(karate))


def test_the_least_certain_nodes_did_not_train(karate: FittedModel) -> None:
    (section,) = [one for one in model_page(karate).sections if one.name == "uncertain"]
    rows = re.findall(r"<tr><th[^>]*>(\d+)</th>", section.body)
    margins = (karate.probabilities[:, 0] - karate.probabilities[:, 1]).abs()
    others = sorted(set(range(34)) - set(karate.split.train.tolist()), key=lambda i: margins[i])
    assert [int(row) for row in rows] == others[: len(rows)]
    assert len(rows) == min(25, len(others))


def test_with_several_classes_per_node_the_one_nearest_to_a_half_is_listed(
    multilabel: FittedModel,
) -> None:
    probabilities = torch.full((40, 3), 0.9)
    node, other = int(multilabel.split.val[0]), int(multilabel.split.test[0])
    probabilities[node, 1], probabilities[other, 2] = 0.55, 0.3
    page = model_page(dataclasses.replace(multilabel, probabilities=probabilities))
    (section,) = [one for one in page.sections if one.name == "uncertain"]
    rows = re.findall(r"<tr><th.*?</tr>", section.body)
    words = [re.sub(r"<[^>]*>", " ", row).split() for row in rows]
    y = multilabel.graph.data.y
    assert words[1][:3] == [f"n{node}", "1", "55.0"]
    assert words[2][:3] == [f"n{other}", "2", "30.0"]
    assert words[1][3:] == (["has", "it"] if y[node, 1] else ["does", "not"])
    assert words[2][3:] == (["has", "it"] if y[other, 2] else ["does", "not"])


def test_the_points_of_the_calibration_have_their_counts(karate: FittedModel) -> None:
    page = model_page(karate)
    model = page.data["charts"]["calibration"]["series"][1]
    assert sum(model["dots"]) == karate.split.test.numel()
    assert len(model["dots"]) == len(model["x"])
    assert "expected calibration error" in read(page.render()).text
