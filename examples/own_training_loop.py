"""DropEdge and GAug-O's sampler in a plain PyTorch loop, on Cora.

A model, an optimizer, and a loop as anybody writes it. Three loops differ in the graph of an epoch:
the given one, one with edges left out (`drop_edges`), and one that a learned sampler draws
(`EdgeSampler`), which the loss of the classifier trains too. All of them predict on the given
graph. The epoch is chosen on validation nodes, and the test score is read once, at that epoch.

    gaug datasets fetch cora
    python examples/own_training_loop.py

It takes under a minute on a laptop. Expect 81 to 83 for each: one run says that the loops work, not
which is best. `gaug train` and `gaug.evaluate` repeat runs for that.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from gaug import GCN, EdgeSampler, drop_edges, load_graph, make_split


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Train three times. Returns the test scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=60, help="epochs of each loop")
    parser.add_argument("--pretrain", type=int, default=60, help="those of the sampler alone")
    options = parser.parse_args(arguments)

    data = load_graph("cora")
    data = make_split(data, "public").apply(data)
    generator = torch.Generator().manual_seed(0)
    sampler = EdgeSampler(data, alpha=0.3)
    alone = torch.optim.Adam(sampler.parameters(), lr=0.01)
    for _ in range(options.pretrain):
        alone.zero_grad()
        sampler.edge_loss().backward()
        alone.step()

    graphs: dict[str, Callable[[], Any]] = {
        "plain": lambda: data.edge_index,
        "DropEdge": lambda: drop_edges(data, 0.3, generator).edge_index,
        "GAug-O": sampler,
    }
    scores = {name: train(data, graph, options.epochs) for name, graph in graphs.items()}
    print(*(f"{name:9} test accuracy {score:.1f}" for name, score in scores.items()), sep="\n")
    return scores


def train(data: Data, graph_of_epoch: Callable[[], Any], epochs: int) -> float:
    """The test accuracy, in percent, of the epoch with the best validation accuracy."""
    torch.manual_seed(0)
    model = GCN(data.num_features, int(data.y.max()) + 1)
    groups = [{"params": model.parameters(), "weight_decay": 5e-4}]
    sampler = graph_of_epoch if isinstance(graph_of_epoch, EdgeSampler) else None
    if sampler is not None:
        groups.append({"params": sampler.parameters(), "weight_decay": 0.0})
    optimizer = torch.optim.Adam(groups, lr=0.01)
    best, predicted = -1.0, data.y
    for _ in range(epochs):
        optimizer.zero_grad()
        logits = model.train()(data.x, graph_of_epoch())
        loss = cross_entropy(logits[data.train_mask], data.y[data.train_mask])
        (loss if sampler is None else loss + sampler.edge_loss()).backward()
        optimizer.step()
        with torch.no_grad():
            now = model.eval()(data.x, data.edge_index).argmax(dim=1)
        if (score := (now == data.y)[data.val_mask].double().mean().item()) > best:
            best, predicted = score, now
    return 100 * (predicted == data.y)[data.test_mask].double().mean().item()


if __name__ == "__main__":
    main()
