"""A grown graph's features come in the columns that a model knows."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gaug.data.feature_alignment import align_features
from gaug.data.loaded import LoadedGraph
from gaug.data.opening import open_graph
from gaug.errors import DataError


def graph(folder: Path, features: str) -> LoadedGraph:
    folder.mkdir()
    (folder / "edges.csv").write_text("a,b\nb,c\n")
    (folder / "features.csv").write_text(features)
    return open_graph(folder)


@pytest.mark.parametrize("sparse", [True, False])
def test_columns_come_in_the_known_order(tmp_path: Path, sparse: bool) -> None:
    known = graph(tmp_path / "old", "id,age,town\na,10,Rome\nb,20,Oslo\nc,30,Bern\n")
    grown = graph(tmp_path / "new", "id,town,age\na,Rome,1\nb,Paris,2\nc,Oslo,3\n")
    if sparse:
        grown.data.x = grown.data.x.to_dense().to_sparse_csr()
    aligned = align_features(grown, known.feature_names)
    assert known.feature_names == ("age", "town=Bern", "town=Oslo", "town=Rome")
    assert aligned.feature_names == known.feature_names
    expected = torch.tensor([[1, 0, 0, 1], [2, 0, 0, 0], [3, 0, 1, 0]]).float()
    assert torch.equal(aligned.data.x.to_dense(), expected)
    assert (aligned.data.x.layout == torch.sparse_csr) == sparse
    assert "Left out categories that are new: 'town=Paris'." in aligned.notes


def test_the_same_columns_are_left_alone(tmp_path: Path) -> None:
    known = graph(tmp_path / "old", "id,age\na,10\nb,20\nc,30\n")
    assert align_features(known, known.feature_names) is known
    assert align_features(known, ()) is known


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("id,size\na,1\nb,2\nc,3\n", "lacks the features 'age'"),
        ("id,age,size\na,1,1\nb,2,1\nc,3,1\n", "were not there before, the features 'size'"),
        ("id,age,town\na,1,x\nb,2,y\nc,3,x\n", "were not there before, the features 'town=x'"),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, features: str, message: str) -> None:
    known = graph(tmp_path / "old", "id,age\na,10\nb,20\nc,30\n")
    with pytest.raises(DataError, match=message):
        align_features(graph(tmp_path / "new", features), known.feature_names)
