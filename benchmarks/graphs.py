"""The graphs to measure on: the real ones where they are at hand, else synthetic ones of a size."""

from __future__ import annotations

from torch_geometric.data import Data

from gaug.data.catalog.loading import load_graph
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import MissingDataError

_STAND_INS = {
    "cora": SyntheticConfig(
        num_nodes=2708, num_classes=7, degree=3.9, num_features=1433, feature_density=0.013
    ),
    "pubmed": SyntheticConfig(
        num_nodes=19717, num_classes=3, degree=4.5, num_features=500, feature_density=0.1
    ),
    "flickr": SyntheticConfig(
        num_nodes=7575, num_classes=9, degree=63.3, num_features=12047, feature_density=0.002
    ),
}


def benchmark_graph(name: str) -> tuple[Data, str]:
    """The graph with a split, and how to call it in a report."""
    try:
        data = load_graph(name)
        title = name
    except MissingDataError:
        data = planted_graph(_STAND_INS[name])
        title = f"synthetic graph of {name}'s size"
    split = make_split(data, "stratified", SplitConfig(train_fraction=0.1))
    return split.apply(data), title
