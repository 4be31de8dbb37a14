"""The graph in a page: all of it, or of a large one what surrounds the listed changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx
import pytest
import torch

from gaug.data.opening import open_graph
from gaug.inspection.augmentation import Augmentation
from gaug.methods.gaug_m.method import GAugM
from gaug.report import graph_data as module
from gaug.report.graph_data import graph_data


@pytest.fixture
def done() -> Augmentation:
    method = GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.1)
    return Augmentation.of(open_graph("karate"), method)


def edges_of(data: dict[str, Any]) -> dict[tuple[str, str], str]:
    names = data["names"] or [str(node) for node in range(len(data["counts"]))]
    found, place = {}, 0
    for u, count in enumerate(data["counts"]):
        v = u
        for _ in range(count):
            v += data["gaps"][place]
            found[names[u], names[v]] = data["states"][place]
            place += 1
    return found


def test_all_edges_are_there_with_what_became_of_them(done: Augmentation) -> None:
    found = graph_data(done, [])
    edges = edges_of(found["data"])
    assert len(edges) == 78 + 15
    for (u, v), state in edges.items():
        assert done.explain_pair(u, v).action == ("kept", "added", "removed")[int(state)]
    scores = iter(found["data"]["scores"])
    for (u, v), state in edges.items():
        if state != "0":
            assert next(scores) == pytest.approx(done.explain_pair(u, v).score, rel=1e-3)


def test_of_a_large_graph_the_surroundings_of_the_listed_pairs_are_there(
    done: Augmentation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_NODES", 20)
    found = graph_data(done, [(11, 12)])
    names = {int(name) for name in found["data"]["names"]}
    pairs = torch.cat([done.edges, done.change.added.pairs], dim=1).t().tolist()
    whole: networkx.Graph[int] = networkx.Graph(pairs)
    near = set(networkx.ego_graph(whole, 11)) | set(networkx.ego_graph(whole, 12))
    assert near <= names
    assert len(names) == 20
    inside = {(str(u), str(v)) for u, v in pairs if u in names and v in names}
    assert set(edges_of(found["data"])) == inside
    assert {name: found["data"]["names"][i] for name, i in found["numbers"].items()} == {
        name: str(name) for name in names
    }
    assert "the 20 nodes around the listed changes" in found["data"]["note"]


def test_a_graph_without_edges_or_changes_can_be_drawn() -> None:
    loaded = open_graph("karate")
    none = Augmentation.of(loaded, GAugM(predictor="ra", add_fraction=0.0, remove_fraction=0.0))
    assert set(edges_of(graph_data(none, [])["data"]).values()) == {"0"}
    data = loaded.data.clone()
    data.edge_index = data.edge_index[:, :0]
    lonely = dataclasses.replace(loaded, data=data)
    bare = Augmentation(lonely, none.change, torch.empty(0), torch.empty(0))
    assert edges_of(graph_data(bare, [])["data"]) == {}
