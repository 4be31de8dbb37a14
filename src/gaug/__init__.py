"""Better node classification by mending the graph.

An implementation of "Data Augmentation for Graph Neural Networks" (Zhao et al., AAAI 2021).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaug.augment import (
        BGCN,
        AdaEdge,
        AdaEdgeConfig,
        BGCNConfig,
        DropEdge,
        DropEdgeConfig,
        GAugM,
        GAugO,
        GAugOConfig,
        NoAugmentation,
    )
    from gaug.augment.dropedge import drop_edges
    from gaug.augment.gaug_o.edge_sampler import EdgeSampler
    from gaug.augment.loading import load
    from gaug.automatic import AutoResult, auto
    from gaug.classifier.base import NodeClassifier
    from gaug.classifier.facts import GraphInfo
    from gaug.data.catalog import load_graph
    from gaug.data.files import GraphFiles
    from gaug.data.loaded import LoadedGraph
    from gaug.data.networkx_graphs import from_networkx
    from gaug.data.source import GraphSource, open_graph, split_graph
    from gaug.data.splits import SplitConfig, make_split
    from gaug.data.synthetic import SyntheticConfig, planted_graph
    from gaug.errors import GaugError
    from gaug.evaluation import Evaluation, evaluate
    from gaug.experiment import Experiment, run_experiment, summarise
    from gaug.graph import standardise
    from gaug.inspection import Inspection, inspect_graph
    from gaug.models import (
        GAT,
        GCN,
        MLP,
        GATConfig,
        GCNConfig,
        GraphSAGE,
        GraphSAGEConfig,
        JKNet,
        JKNetConfig,
        MLPConfig,
    )
    from gaug.search import SearchResult, search_settings
    from gaug.store import RunRecord, Store

# Where each public name lives. It is imported on first use: PyTorch takes seconds to import, and
# `gaug --help` should not.
_HOMES = {
    "AdaEdge": "gaug.augment",
    "AdaEdgeConfig": "gaug.augment",
    "AutoResult": "gaug.automatic",
    "BGCN": "gaug.augment",
    "BGCNConfig": "gaug.augment",
    "DropEdge": "gaug.augment",
    "DropEdgeConfig": "gaug.augment",
    "EdgeSampler": "gaug.augment.gaug_o.edge_sampler",
    "Evaluation": "gaug.evaluation",
    "Experiment": "gaug.experiment",
    "GAT": "gaug.models",
    "GATConfig": "gaug.models",
    "GAugM": "gaug.augment",
    "GAugO": "gaug.augment",
    "GAugOConfig": "gaug.augment",
    "GCN": "gaug.models",
    "GCNConfig": "gaug.models",
    "GaugError": "gaug.errors",
    "GraphFiles": "gaug.data.files",
    "GraphInfo": "gaug.classifier.facts",
    "GraphSAGE": "gaug.models",
    "GraphSAGEConfig": "gaug.models",
    "GraphSource": "gaug.data.source",
    "Inspection": "gaug.inspection",
    "JKNet": "gaug.models",
    "JKNetConfig": "gaug.models",
    "LoadedGraph": "gaug.data.loaded",
    "MLP": "gaug.models",
    "MLPConfig": "gaug.models",
    "NoAugmentation": "gaug.augment",
    "NodeClassifier": "gaug.classifier.base",
    "RunRecord": "gaug.store",
    "SearchResult": "gaug.search",
    "SplitConfig": "gaug.data.splits",
    "Store": "gaug.store",
    "SyntheticConfig": "gaug.data.synthetic",
    "auto": "gaug.automatic",
    "drop_edges": "gaug.augment.dropedge",
    "evaluate": "gaug.evaluation",
    "from_networkx": "gaug.data.networkx_graphs",
    "inspect_graph": "gaug.inspection",
    "load": "gaug.augment.loading",
    "load_graph": "gaug.data.catalog",
    "make_split": "gaug.data.splits",
    "open_graph": "gaug.data.source",
    "planted_graph": "gaug.data.synthetic",
    "run_experiment": "gaug.experiment",
    "search_settings": "gaug.search",
    "split_graph": "gaug.data.source",
    "standardise": "gaug.graph",
    "summarise": "gaug.experiment",
}

__all__ = [
    "BGCN",
    "GAT",
    "GCN",
    "MLP",
    "AdaEdge",
    "AdaEdgeConfig",
    "AutoResult",
    "BGCNConfig",
    "DropEdge",
    "DropEdgeConfig",
    "EdgeSampler",
    "Evaluation",
    "Experiment",
    "GATConfig",
    "GAugM",
    "GAugO",
    "GAugOConfig",
    "GCNConfig",
    "GaugError",
    "GraphFiles",
    "GraphInfo",
    "GraphSAGE",
    "GraphSAGEConfig",
    "GraphSource",
    "Inspection",
    "JKNet",
    "JKNetConfig",
    "LoadedGraph",
    "MLPConfig",
    "NoAugmentation",
    "NodeClassifier",
    "RunRecord",
    "SearchResult",
    "SplitConfig",
    "Store",
    "SyntheticConfig",
    "auto",
    "drop_edges",
    "evaluate",
    "from_networkx",
    "inspect_graph",
    "load",
    "load_graph",
    "make_split",
    "open_graph",
    "planted_graph",
    "run_experiment",
    "search_settings",
    "split_graph",
    "standardise",
    "summarise",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
