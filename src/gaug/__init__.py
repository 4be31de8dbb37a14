"""Better node classification by mending the graph.

An implementation of "Data Augmentation for Graph Neural Networks" (Zhao et al., AAAI 2021).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaug.choosing.auto import AutoResult, auto
    from gaug.choosing.search import SearchResult, search_settings
    from gaug.classifier.base import NodeClassifier
    from gaug.classifier.facts import GraphInfo
    from gaug.data.catalog.loading import load_graph
    from gaug.data.config import SplitConfig
    from gaug.data.files.graph_files import GraphFiles
    from gaug.data.files.networkx import from_networkx
    from gaug.data.loaded import LoadedGraph
    from gaug.data.opening import open_graph, split_graph
    from gaug.data.source import GraphSource
    from gaug.data.splits import make_split
    from gaug.data.synthetic import SyntheticConfig, planted_graph
    from gaug.errors import GaugError
    from gaug.graph.valid import standardize
    from gaug.inspection.inspect import Inspection, inspect_graph
    from gaug.methods import (
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
    from gaug.methods.dropedge.method import drop_edges
    from gaug.methods.gaug_o.edge_sampler import EdgeSampler
    from gaug.methods.loading import load
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
    from gaug.runs.evaluate import Evaluation, evaluate
    from gaug.runs.plan import Experiment, run_experiment, summarize
    from gaug.runs.store import RunRecord, Store

# Where each public name lives. It is imported on first use: PyTorch takes seconds to import, and
# `gaug --help` should not.
_HOMES = {
    "AdaEdge": "gaug.methods",
    "AdaEdgeConfig": "gaug.methods",
    "AutoResult": "gaug.choosing.auto",
    "BGCN": "gaug.methods",
    "BGCNConfig": "gaug.methods",
    "DropEdge": "gaug.methods",
    "DropEdgeConfig": "gaug.methods",
    "EdgeSampler": "gaug.methods.gaug_o.edge_sampler",
    "Evaluation": "gaug.runs.evaluate",
    "Experiment": "gaug.runs.plan",
    "GAT": "gaug.models",
    "GATConfig": "gaug.models",
    "GAugM": "gaug.methods",
    "GAugO": "gaug.methods",
    "GAugOConfig": "gaug.methods",
    "GCN": "gaug.models",
    "GCNConfig": "gaug.models",
    "GaugError": "gaug.errors",
    "GraphFiles": "gaug.data.files.graph_files",
    "GraphInfo": "gaug.classifier.facts",
    "GraphSAGE": "gaug.models",
    "GraphSAGEConfig": "gaug.models",
    "GraphSource": "gaug.data.source",
    "Inspection": "gaug.inspection.inspect",
    "JKNet": "gaug.models",
    "JKNetConfig": "gaug.models",
    "LoadedGraph": "gaug.data.loaded",
    "MLP": "gaug.models",
    "MLPConfig": "gaug.models",
    "NoAugmentation": "gaug.methods",
    "NodeClassifier": "gaug.classifier.base",
    "RunRecord": "gaug.runs.store",
    "SearchResult": "gaug.choosing.search",
    "SplitConfig": "gaug.data.config",
    "Store": "gaug.runs.store",
    "SyntheticConfig": "gaug.data.synthetic",
    "auto": "gaug.choosing.auto",
    "drop_edges": "gaug.methods.dropedge.method",
    "evaluate": "gaug.runs.evaluate",
    "from_networkx": "gaug.data.files.networkx",
    "inspect_graph": "gaug.inspection.inspect",
    "load": "gaug.methods.loading",
    "load_graph": "gaug.data.catalog.loading",
    "make_split": "gaug.data.splits",
    "open_graph": "gaug.data.opening",
    "planted_graph": "gaug.data.synthetic",
    "run_experiment": "gaug.runs.plan",
    "search_settings": "gaug.choosing.search",
    "split_graph": "gaug.data.opening",
    "standardize": "gaug.graph.valid",
    "summarize": "gaug.runs.plan",
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
    "standardize",
    "summarize",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
