"""Why a pair was joined or parted, against NetworkX, scikit-learn and a graph done by hand."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity
from torch_geometric.data import Data

from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.opening import open_graph
from gaug.errors import DataError
from gaug.graph.edges import undirected_pairs
from gaug.inspection.augmentation import Augmentation
from gaug.methods.gaug_m.method import GAugM
from gaug.report.augmentation import write_augmentation


@pytest.fixture
def karate() -> Augmentation:
    method = GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.1)
    return Augmentation.of(open_graph("karate"), method)


def small(*, dense: bool = True) -> LoadedGraph:
    """A square a-b-c-d with a tail d-e; words as features."""
    pairs = torch.tensor([[0, 1, 2, 0, 3], [1, 2, 3, 3, 4]])
    words = torch.tensor(
        [
            [1.0, 1, 0, 1],
            [0, 0, 1, 0],
            [1, 1, 0, 0],
            [0, 1, 0, 0],
            [0, 1, 0, 0],
        ]
    )
    data = Data(
        x=words if dense else words.to_sparse_csr(),
        edge_index=torch.cat([pairs, pairs.flip(0)], dim=1),
        y=torch.tensor([0, 1, 0, -1, 1]),
    )
    names = ("graph", "the", "soup", "neural")
    return LoadedGraph("small", data, NodeIds("abcde"), ("papers", "recipes"), names)


@pytest.mark.parametrize("dense", [True, False])
def test_the_reasons_of_a_graph_worked_out_by_hand(dense: bool) -> None:
    method = GAugM(predictor="ra", add_fraction=0.4, remove_fraction=0.2)
    done = Augmentation.of(small(dense=dense), method)
    found = done.explain_pair("a", "c")
    # Common neighbors b (2 neighbors) and d (3): 1/2 + 1/3; only b-d has more, 1/2 + 1/2.
    assert (found.action, found.rank, found.count) == ("added", 2, 2)
    assert found.score == pytest.approx(5 / 6)
    assert found.above == 1.0
    assert (found.num_common, found.common, found.degrees) == (2, ("b", "d"), (2, 2))
    assert found.classes == ("papers", "papers")
    # (1, 1, 0, 1) and (1, 1, 0, 0): 2 / √6, half each; "graph" is rarer than "the".
    assert found.similarity == pytest.approx(2 / np.sqrt(6))
    assert [(one.name, one.nodes) for one in found.shared] == [("graph", 2), ("the", 4)]
    assert found.shared[0].part == pytest.approx(1 / np.sqrt(6))


def test_what_was_removed_kept_or_left_alone() -> None:
    method = GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.2)
    done = Augmentation.of(small(), method)
    # No edge closes a triangle, so all score 0, and the hash of the pair decides.
    edges = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e")]
    actions = {pair: done.explain_pair(*pair).action for pair in edges}
    assert sorted(actions.values()) == ["kept"] * 4 + ["removed"]
    one = done.explain_pair("e", "d")
    assert (one.source, one.target) == ("d", "e")
    assert one.classes == (None, "recipes")
    left = done.explain_pair("a", "c")
    assert (left.action, left.rank) == ("not joined", None)
    assert left.score == pytest.approx(1 / 2 + 1 / 3)


def test_every_pair_agrees_with_networkx(karate: Augmentation) -> None:
    graph: networkx.Graph[int] = networkx.karate_club_graph()
    for u in range(0, 34, 3):
        for v in range(u + 1, 34, 2):
            found = karate.explain_pair(u, v)
            assert found.num_common == len(list(networkx.common_neighbors(graph, u, v)))
            assert found.degrees == (graph.degree(u), graph.degree(v))


def test_similarity_agrees_with_scikit_learn() -> None:
    generator = torch.Generator().manual_seed(0)
    data = small().data.clone()
    data.x = torch.randn(5, 7, generator=generator)
    done = Augmentation.of(
        LoadedGraph("r", data, NodeIds("abcde"), ("p", "q")), GAugM(predictor="ra")
    )
    expected = cosine_similarity(data.x.numpy())
    for u in range(5):
        for v in range(u + 1, 5):
            assert done.explain(u, v).similarity == pytest.approx(expected[u, v], abs=1e-6)


def test_ranks_follow_the_order_of_the_changes(karate: Augmentation) -> None:
    for kind in ("added", "removed"):
        ranked = getattr(karate.change, kind)
        for place, (u, v) in enumerate(ranked.pairs.t().tolist()):
            found = karate.explain_pair(str(u), str(v))
            assert (found.action, found.rank, found.count) == (kind, place + 1, len(ranked))
            assert found.score == float(ranked.logits[place])


def test_a_folder_gives_the_same_reasons_back(karate: Augmentation, tmp_path: Path) -> None:
    write_augmentation(tmp_path / "out", karate, "karate")
    again = Augmentation.read(tmp_path / "out")
    pairs = torch.cat([karate.edges, karate.change.added.pairs], dim=1).t().tolist()
    for u, v in pairs:
        assert again.explain_pair(u, v) == karate.explain_pair(u, v)
    assert torch.equal(again.kept, karate.kept)
    assert torch.equal(
        undirected_pairs(again.better.edge_index), undirected_pairs(karate.better.edge_index)
    )
    # Of pairs that are no edges only the added ones have a score on disk.
    assert karate.explain_pair(9, 25).score is not None
    assert again.explain_pair(9, 25).score is None


def test_the_lines_say_what_the_fields_hold(karate: Augmentation) -> None:
    text = "\n".join(karate.explain_pair(2, 33).lines())
    assert "2 – 33: added" in text
    assert "number 1 of 15 added" in text
    assert "6 of 10 and 17: " in text
    assert json.loads(json.dumps(karate.explain_pair(2, 33).to_dict()))["num_common"] == 6


@pytest.mark.parametrize(
    ("pair", "words"),
    [((0, 99), "no node '99'"), ((3, 3), "two different nodes"), (("x", 0), "no node 'x'")],
)
def test_a_pair_that_is_none_is_refused(
    karate: Augmentation, pair: tuple[str | int, str | int], words: str
) -> None:
    with pytest.raises(DataError, match=words):
        karate.explain_pair(*pair)


def test_a_folder_of_something_else_is_refused(karate: Augmentation, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no folder"):
        Augmentation.read(tmp_path / "none")
    with pytest.raises(DataError, match=r"it has no graph\.pt"):
        Augmentation.read(tmp_path)


@pytest.mark.parametrize("damage", ["edges", "added", "removed_scores", "missing", "summary"])
def test_a_damaged_folder_is_told(karate: Augmentation, tmp_path: Path, damage: str) -> None:
    out = tmp_path / "out"
    write_augmentation(out, karate, "karate")
    with np.load(out / "scores.npz") as file:
        arrays = dict(file)
    if damage == "edges":
        arrays["edges"][0, 0] = 99
    elif damage == "added":
        arrays["added"] = arrays["added"].T
    elif damage == "removed_scores":
        arrays["removed_scores"] = arrays["removed_scores"][1:]
    elif damage == "missing":
        del arrays["random_scores"]
    else:
        (out / "summary.json").write_text("[]")
    np.savez(out / "scores.npz", **arrays)
    with pytest.raises(DataError, match="damaged"):
        Augmentation.read(out)
