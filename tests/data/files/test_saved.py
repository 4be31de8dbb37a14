"""A saved Data is read with its tensors and names; nothing else is unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gaug.data.opening import open_graph, split_graph
from gaug.errors import DataError


def save(path: Path, **values: Any) -> Path:
    given: dict[str, Any] = {
        "x": torch.tensor([[1.0, 2.0], [3.0, 0.0], [0.0, 5.0]]),
        "edge_index": torch.tensor([[0, 1], [1, 2]]),
        "y": torch.tensor([0, 1, -1]),
    }
    torch.save(Data(**(given | values)), path)
    return path


def test_a_data_comes_back(tmp_path: Path) -> None:
    path = save(tmp_path / "mine.pt", node_id=["ann", "bob", "7"], class_names=["no", "yes"])
    graph = open_graph(path)
    assert graph.name == "mine"
    assert list(graph.ids) == ["ann", "bob", "7"]
    assert graph.class_names == ("no", "yes")
    assert graph.data.x.tolist() == [[1, 2], [3, 0], [0, 5]]
    assert graph.data.y.tolist() == [0, 1, -1]
    assert graph.data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_a_plain_dictionary_with_masks_and_sparse_features(tmp_path: Path) -> None:
    masks = {
        f"{part}_mask": torch.tensor([i == j for j in range(3)])
        for i, part in enumerate(("train", "val", "test"))
    }
    values = {
        "x": torch.eye(3).to_sparse_csr(),
        "edge_index": torch.tensor([[0, 1], [1, 2]]),
        "y": torch.tensor([0, 1, 1]),
        "extra": torch.zeros(3),
        **masks,
    }
    torch.save(values, tmp_path / "d.pt")
    graph = open_graph(tmp_path / "d.pt")
    assert graph.default_split == "public"
    assert split_graph(graph).val.tolist() == [1]
    assert graph.data.x.layout == torch.sparse_csr
    assert "Left out of d.pt: extra." in graph.notes


def test_what_may_be_unpickled_elsewhere_stays_as_it_was(tmp_path: Path) -> None:
    torch.serialization.add_safe_globals([Data])
    before = set(torch.serialization.get_safe_globals())
    open_graph(save(tmp_path / "g.pt"))
    assert set(torch.serialization.get_safe_globals()) == before


def test_a_trap_is_not_unpickled(tmp_path: Path, trap: Any) -> None:
    torch.save({"x": trap}, tmp_path / "trap.pt")
    with pytest.raises(DataError, match="nothing else is unpickled"):
        open_graph(tmp_path / "trap.pt")
    assert not trap.folder.exists()


def test_a_packed_file_is_refused(tmp_path: Path) -> None:
    """torch.save packs nothing, so a packed part is a bomb or a mistake."""
    path = save(tmp_path / "g.pt")
    packed = tmp_path / "packed.pt"
    with (
        zipfile.ZipFile(path) as old,
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(DataError, match="compressed parts"):
        open_graph(packed)


def test_a_tensor_that_claims_more_than_it_has_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "g.pt", edge_index=torch.zeros(2, 1, dtype=torch.long).expand(2, 10**9))
    with pytest.raises(DataError, match="edge_index claims more numbers than it has"):
        open_graph(path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"node_id": ["a", "b"]}, r"node_id must have one id per node \(3\), got 2"),
        ({"node_id": ["a", "b", "a"]}, "node 'a' comes a second time"),
        ({"class_names": ["one"]}, "class_names must have a name for each of 2 classes, got 1"),
        ({"x": [1, 2, 3]}, "x must be a tensor, got list"),
        ({"train_mask": torch.tensor([1, 0, 0])}, "train_mask must be true or false for each node"),
        ({"edge_index": torch.tensor([[0], [9]])},
         "g.pt: edge_index must hold node ids from 0 to 2"),
        ({"x": None, "y": None, "num_nodes": 10**13}, "must have from 1 to 200,000,000 nodes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_graph(save(tmp_path / "g.pt", **values))


def test_a_text_file_with_that_ending_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g.pt").write_text("a,b\n")
    with pytest.raises(DataError, match=r"is not a file of torch\.save"):
        open_graph(tmp_path / "g.pt")
