"""The plain peer: what a PyTorch Geometric user writes first.

Dense features, two `GCNConv` layers, Adam, validation each epoch. Run as
``python -m benchmarks.peer GRAPH EPOCHS``; prints seconds an epoch and peak memory as JSON.
"""

from __future__ import annotations

import json
import sys
import time

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GCNConv

from benchmarks.graphs import benchmark_graph
from gaug.graph.labels import num_classes
from gaug.runs.cost import peak_memory_mb


class PlainGCN(nn.Module):
    """Two layers with dropout between them."""

    def __init__(self, in_features: int, classes: int) -> None:
        super().__init__()
        self.first = GCNConv(in_features, 128)
        self.second = GCNConv(128, classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Class logits."""
        h = self.first(x, edge_index).relu()
        h = functional.dropout(h, 0.5, self.training)
        return self.second(h, edge_index)


def main() -> None:
    name, epochs = sys.argv[1], int(sys.argv[2])
    data, _ = benchmark_graph(name)
    x = data.x.to_dense()
    model = PlainGCN(x.size(1), num_classes(data))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    start = time.perf_counter()
    for epoch in range(epochs + 1):
        if epoch == 1:  # the first epoch warms up
            start = time.perf_counter()
        model.train()
        optimizer.zero_grad()
        out = model(x, data.edge_index)
        functional.cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            predicted = model(x, data.edge_index).argmax(dim=1)
            float((predicted[data.val_mask] == data.y[data.val_mask]).float().mean())
    seconds = (time.perf_counter() - start) / epochs
    print(json.dumps({"seconds_per_epoch": seconds, "peak_memory_mb": peak_memory_mb()}))


if __name__ == "__main__":
    main()
