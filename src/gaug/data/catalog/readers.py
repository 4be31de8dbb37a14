"""How each graph of the catalog is read from its raw files, through PyTorch Geometric's loaders.

Each reader takes the folder that a PyTorch Geometric dataset class calls ``root`` and returns the
graph as that class gives it; `gaug.data.catalog.loading` makes it a valid graph and keeps it.
"""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import networkx
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from gaug.data.catalog.checksums import PLANETOID_SHA256
from gaug.errors import DataError
from gaug.graph.components import largest_components
from gaug.graph.valid import standardize


def read_karate(_: Path) -> Data:
    """Zachary's karate club with its two factions; each node's only feature is its id."""
    graph = networkx.karate_club_graph()
    factions = sorted({faction for _, faction in graph.nodes(data="club")})
    labels = [factions.index(faction) for _, faction in graph.nodes(data="club")]
    return Data(
        x=torch.eye(len(labels)),
        edge_index=torch.tensor(list(graph.edges)).t().contiguous(),
        y=torch.tensor(labels),
    )


def read_planetoid(root: Path, name: str) -> Data:
    """A citation graph by its name in `torch_geometric.datasets.Planetoid`."""
    from torch_geometric.datasets import Planetoid

    for file in sorted((root / name / "raw").iterdir()):
        expected = PLANETOID_SHA256.get(file.name)
        if expected and hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            raise DataError(
                f"{file.name} is damaged or is not the published file (its SHA-256 differs)."
                " Fetch it again."
            )
    return _first(Planetoid(str(root), name))


def read_attributed(root: Path, name: str, components: int | None = None) -> Data:
    """A graph by its name in `torch_geometric.datasets.AttributedGraphDataset`.

    Args:
        root: The folder.
        name: The name there.
        components: Keep only this many of the largest connected components.
    """
    from torch_geometric.datasets import AttributedGraphDataset

    data = _first(AttributedGraphDataset(str(root), name))
    if components is None:
        return data
    valid, _ = standardize(data)
    return largest_components(valid, components)


def read_air_usa(root: Path) -> Data:
    """Air traffic in the USA with one-hot degrees as features, as the paper has it.

    The dataset class lists each flight once and gives an identity matrix as features.
    """
    from torch_geometric.datasets import Airports

    data, _ = standardize(_first(Airports(str(root), "USA")))
    degree = torch.bincount(data.edge_index[0], minlength=data.num_nodes)
    # No airport is isolated, so that the first column stands for degree 1.
    data.x = functional.one_hot(degree - 1).float()
    return data


def read_ogbn_arxiv(root: Path) -> Data:
    """OGB's citation graph of arXiv from its raw CSV files, split by year of publication."""
    folder = root / "ogbn_arxiv"
    x = _read_csv(folder / "raw" / "node-feat.csv.gz", np.float32)
    edges = _read_csv(folder / "raw" / "edge.csv.gz", np.int64)
    labels = _read_csv(folder / "raw" / "node-label.csv.gz", np.int64)
    masks = {}
    for part, file in (("train", "train"), ("val", "valid"), ("test", "test")):
        nodes = _read_csv(folder / "split" / "time" / f"{file}.csv.gz", np.int64)
        if nodes.numel() and not 0 <= int(nodes.min()) <= int(nodes.max()) < x.size(0):
            raise DataError(f"{file}.csv.gz must hold node ids from 0 to {x.size(0) - 1}.")
        mask = torch.zeros(x.size(0), dtype=torch.bool)
        mask[nodes.flatten()] = True
        masks[f"{part}_mask"] = mask
    return Data(x=x, edge_index=edges.t().contiguous(), y=labels.flatten(), **masks)


def _read_csv(path: Path, dtype: type[np.generic]) -> Tensor:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return torch.from_numpy(np.loadtxt(lines, delimiter=",", dtype=dtype, ndmin=2))


def _first(dataset: object) -> Data:
    data = dataset[0]  # type: ignore[index]
    assert isinstance(data, Data)
    return data
