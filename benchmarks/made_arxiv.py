"""A graph of the size and structure of ogbn-arxiv, with features made from its labels.

OGB's own features are not needed to measure speed and memory, and scores on made-up ones mean
nothing beside published ones. A node's features are a random direction of its class, some times as
long as the noise in each of the 128 dimensions.

Run as ``python -m benchmarks.made_arxiv STRUCTURE OUT``: STRUCTURE is an ``.npz`` file with
``edge_index``, ``y``, ``train``, ``val`` and ``test``. The graph is ``OUT/made_arxiv.pt``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

WIDTH = 128
# A plain GCN scores about 70 with this.
SIGNAL = 0.13


def made_features(labels: np.ndarray, seed: int = 0) -> np.ndarray:
    """Features with a little of the class in each dimension.  [N, 128]"""
    random = np.random.default_rng(seed)
    directions = random.standard_normal((int(labels.max()) + 1, WIDTH))
    noise = random.standard_normal((labels.size, WIDTH))
    return (SIGNAL * directions[labels] + noise).astype(np.float32)


def made_arxiv(structure: Path) -> Data:
    """The graph, with its own split."""
    parts = np.load(structure)
    labels = parts["y"].reshape(-1).astype(np.int64)
    data = Data(
        x=torch.from_numpy(made_features(labels)),
        edge_index=torch.from_numpy(parts["edge_index"].astype(np.int64)),
        y=torch.from_numpy(labels),
    )
    for name in ("train", "val", "test"):
        mask = torch.zeros(labels.size, dtype=torch.bool)
        mask[torch.from_numpy(parts[name].astype(np.int64))] = True
        data[f"{name}_mask"] = mask
    return data


def main() -> None:
    structure, out = Path(sys.argv[1]), Path(sys.argv[2])
    data = made_arxiv(structure)
    out.mkdir(parents=True)
    torch.save(data, out / "made_arxiv.pt")
    print(f"{out / 'made_arxiv.pt'}: {data.num_nodes:,} nodes")


if __name__ == "__main__":
    main()
