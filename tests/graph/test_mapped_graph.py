"""A graph in a file is the graph that was written, and outlives the file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from gaug.data.config import PARTS
from gaug.data.fitting_split import with_fitting_masks
from gaug.graph.fingerprint import graph_hash
from gaug.graph.mapped_graph import MappedGraph, map_graph, write_graph
from gaug.graph.valid import standardize


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_mapped_graph_is_the_one_that_was_written(
    path_graph: Data, tmp_path: Path, sparse: bool, weighted: bool
) -> None:
    path_graph.x = torch.cat([torch.eye(4), torch.zeros(4, 12)], dim=1) if sparse else path_graph.x
    path_graph.train_mask = torch.tensor([True, False, True, False])
    if weighted:
        path_graph.edge_weight = torch.tensor([2.0, 2.0, 3.0, 3.0, 4.0, 4.0])
    valid, _ = standardize(path_graph)
    assert (valid.x.layout == torch.sparse_csr) == sparse
    write_graph(valid, tmp_path / "graph")
    mapped = map_graph(tmp_path / "graph")
    (tmp_path / "graph").unlink()
    assert isinstance(mapped, MappedGraph)
    assert graph_hash(mapped) == graph_hash(valid)
    assert mapped.num_nodes == 4
    assert sorted(mapped.keys()) == sorted(valid.keys())
    assert torch.equal(mapped.train_mask, path_graph.train_mask)


def test_nodes_without_features_are_counted(path_graph: Data, tmp_path: Path) -> None:
    del path_graph.x
    path_graph.num_nodes = 6  # two more, which have no edges
    del path_graph.y
    write_graph(path_graph, tmp_path / "graph")
    assert map_graph(tmp_path / "graph").num_nodes == 6


def test_masks_that_share_their_memory_are_written_too(path_graph: Data, tmp_path: Path) -> None:
    valid, _ = standardize(path_graph)
    masked = with_fitting_masks(valid, validate=False)  # nobody validates, nobody tests
    write_graph(masked, tmp_path / "graph")
    mapped = map_graph(tmp_path / "graph")
    for part in PARTS:
        assert torch.equal(mapped[f"{part}_mask"], masked[f"{part}_mask"])
