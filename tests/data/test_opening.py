"""Any graph as a loaded one, and the split that it has by default."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from gaug.data.config import PARTS, SplitConfig
from gaug.data.opening import as_loaded, open_graph, split_graph
from gaug.data.splits import make_split
from gaug.errors import ConfigError
from gaug.graph.fingerprint import graph_hash


@pytest.fixture
def ring() -> Data:
    """Forty nodes of two classes in a directed ring, with features that are mostly zeros."""
    nodes = torch.arange(40)
    return Data(
        x=torch.eye(40),
        edge_index=torch.stack([nodes, (nodes + 1) % 40]),
        y=(nodes % 4 == 0).long(),
    )


def sizes(split) -> list[int]:
    return [getattr(split, part).numel() for part in PARTS]


def test_a_graph_in_memory_is_valid_numbered_and_stratified(ring: Data) -> None:
    with pytest.warns(UserWarning, match="Made the graph undirected"):
        loaded = as_loaded(ring)
    assert loaded.data.num_edges == 80
    assert loaded.data.x.layout == torch.sparse_csr
    assert (loaded.name, loaded.class_names, loaded.ids[39]) == (
        "a graph in memory",
        ("0", "1"),
        "39",
    )
    split = split_graph(loaded)
    assert (split.name, sizes(split)) == ("stratified-0", [24, 8, 8])
    assert ring.num_edges == 40


@pytest.mark.filterwarnings("ignore:Made the graph undirected")
def test_dense_features_stay_dense_on_request(ring: Data) -> None:
    assert torch.equal(as_loaded(ring, keep_dense=True).data.x, ring.x)


@pytest.mark.filterwarnings("ignore:Made the graph undirected")
def test_the_masks_of_a_graph_in_memory_are_its_split(ring: Data) -> None:
    split = make_split(ring, "random")
    assert split_graph(as_loaded(split.apply(ring))).hash == split.hash
    ring.train_mask = torch.ones(40, dtype=torch.bool)
    assert as_loaded(ring).default_split == "stratified"


def test_what_is_loaded_or_can_be_opened_is_taken_as_it_is() -> None:
    karate = open_graph("karate")
    assert as_loaded(karate) is karate
    assert graph_hash(as_loaded("karate").data) == graph_hash(karate.data)


def test_a_graph_of_the_catalog_has_the_share_of_the_paper_by_default() -> None:
    karate = open_graph("karate")
    assert (split_graph(karate).name, sizes(split_graph(karate))) == ("random-0", [3, 6, 25])
    own = dataclasses.replace(karate, default_train_fraction=0.6)
    assert sizes(split_graph(own)) == [20, 6, 8]
    assert sizes(split_graph(own, config=SplitConfig(train_fraction=0.3))) == [10, 6, 18]


def test_the_users_own_graph_is_split_by_class_three_fifths_to_train(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("".join(f"{i},{(i + 1) % 20}\n" for i in range(20)))
    (tmp_path / "labels.csv").write_text("".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)))
    own = open_graph(tmp_path)
    split = split_graph(own)
    assert (split.name, sizes(split)) == ("stratified-0", [12, 4, 4])
    with pytest.raises(ConfigError, match=r"got 0\.6 \+ 0\.4"):
        split_graph(own, config=SplitConfig(val_fraction=0.4))
