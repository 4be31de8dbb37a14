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
    from gaug.classifier.graph_info import GraphInfo
    from gaug.data.catalog.catalog import load_graph
    from gaug.data.files.graph_files import GraphFiles
    from gaug.data.files.networkx import from_networkx
    from gaug.data.loaded import LoadedGraph
    from gaug.data.source import GraphSource, open_graph, split_graph
    from gaug.data.splits import SplitConfig, make_split
    from gaug.data.synthetic import SyntheticConfig, planted_graph
    from gaug.edge_predictors.base import EdgePredictor
    from gaug.edge_predictors.build import build_predictor
    from gaug.edge_predictors.combined import CombinedPredictor
    from gaug.edge_predictors.config import PredictorConfig
    from gaug.edge_predictors.embedding import EmbeddingPredictor
    from gaug.errors import GaugError
    from gaug.graph.valid import standardize
    from gaug.inspection.inspect import Inspection, inspect_graph
    from gaug.methods.adaedge.config import AdaEdgeConfig
    from gaug.methods.adaedge.method import AdaEdge
    from gaug.methods.bgcn.config import BGCNConfig
    from gaug.methods.bgcn.method import BGCN
    from gaug.methods.dropedge.config import DropEdgeConfig
    from gaug.methods.dropedge.method import DropEdge, drop_edges
    from gaug.methods.gaug_m.config import GAugMConfig
    from gaug.methods.gaug_m.method import GAugM
    from gaug.methods.gaug_o.config import GAugOConfig
    from gaug.methods.gaug_o.edge_sampler import EdgeSampler
    from gaug.methods.gaug_o.method import GAugO
    from gaug.methods.loading import load
    from gaug.methods.method import Method
    from gaug.methods.none.method import NoAugmentation
    from gaug.models.base import GNN
    from gaug.models.config import (
        GATConfig,
        GCNConfig,
        GraphSAGEConfig,
        JKNetConfig,
        MLPConfig,
        ModelConfig,
    )
    from gaug.models.gat import GAT
    from gaug.models.gcn import GCN
    from gaug.models.graphsage import GraphSAGE
    from gaug.models.jknet import JKNet
    from gaug.models.mlp import MLP
    from gaug.runs.evaluate import Evaluation, evaluate
    from gaug.runs.plan import Experiment, run_experiment, summarize
    from gaug.runs.store import RunRecord, Store
    from gaug.training.config import MethodConfig

# Where each public name lives. It is imported on first use: PyTorch takes seconds to import, and
# `gaug --help` should not.
_HOMES = {
    "AdaEdge": "gaug.methods.adaedge.method",
    "AdaEdgeConfig": "gaug.methods.adaedge.config",
    "AutoResult": "gaug.choosing.auto",
    "BGCN": "gaug.methods.bgcn.method",
    "BGCNConfig": "gaug.methods.bgcn.config",
    "CombinedPredictor": "gaug.edge_predictors.combined",
    "DropEdge": "gaug.methods.dropedge.method",
    "DropEdgeConfig": "gaug.methods.dropedge.config",
    "EdgePredictor": "gaug.edge_predictors.base",
    "EdgeSampler": "gaug.methods.gaug_o.edge_sampler",
    "EmbeddingPredictor": "gaug.edge_predictors.embedding",
    "Evaluation": "gaug.runs.evaluate",
    "Experiment": "gaug.runs.plan",
    "GAT": "gaug.models.gat",
    "GATConfig": "gaug.models.config",
    "GAugM": "gaug.methods.gaug_m.method",
    "GAugMConfig": "gaug.methods.gaug_m.config",
    "GAugO": "gaug.methods.gaug_o.method",
    "GAugOConfig": "gaug.methods.gaug_o.config",
    "GCN": "gaug.models.gcn",
    "GCNConfig": "gaug.models.config",
    "GNN": "gaug.models.base",
    "GaugError": "gaug.errors",
    "GraphFiles": "gaug.data.files.graph_files",
    "GraphInfo": "gaug.classifier.graph_info",
    "GraphSAGE": "gaug.models.graphsage",
    "GraphSAGEConfig": "gaug.models.config",
    "GraphSource": "gaug.data.source",
    "Inspection": "gaug.inspection.inspect",
    "JKNet": "gaug.models.jknet",
    "JKNetConfig": "gaug.models.config",
    "LoadedGraph": "gaug.data.loaded",
    "MLP": "gaug.models.mlp",
    "MLPConfig": "gaug.models.config",
    "Method": "gaug.methods.method",
    "MethodConfig": "gaug.training.config",
    "ModelConfig": "gaug.models.config",
    "NoAugmentation": "gaug.methods.none.method",
    "NodeClassifier": "gaug.classifier.base",
    "PredictorConfig": "gaug.edge_predictors.config",
    "RunRecord": "gaug.runs.store",
    "SearchResult": "gaug.choosing.search",
    "SplitConfig": "gaug.data.splits",
    "Store": "gaug.runs.store",
    "SyntheticConfig": "gaug.data.synthetic",
    "auto": "gaug.choosing.auto",
    "build_predictor": "gaug.edge_predictors.build",
    "drop_edges": "gaug.methods.dropedge.method",
    "evaluate": "gaug.runs.evaluate",
    "from_networkx": "gaug.data.files.networkx",
    "inspect_graph": "gaug.inspection.inspect",
    "load": "gaug.methods.loading",
    "load_graph": "gaug.data.catalog.catalog",
    "make_split": "gaug.data.splits",
    "open_graph": "gaug.data.source",
    "planted_graph": "gaug.data.synthetic",
    "run_experiment": "gaug.runs.plan",
    "search_settings": "gaug.choosing.search",
    "split_graph": "gaug.data.source",
    "standardize": "gaug.graph.valid",
    "summarize": "gaug.runs.plan",
}

__all__ = [
    "BGCN",
    "GAT",
    "GCN",
    "GNN",
    "MLP",
    "AdaEdge",
    "AdaEdgeConfig",
    "AutoResult",
    "BGCNConfig",
    "CombinedPredictor",
    "DropEdge",
    "DropEdgeConfig",
    "EdgePredictor",
    "EdgeSampler",
    "EmbeddingPredictor",
    "Evaluation",
    "Experiment",
    "GATConfig",
    "GAugM",
    "GAugMConfig",
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
    "Method",
    "MethodConfig",
    "ModelConfig",
    "NoAugmentation",
    "NodeClassifier",
    "PredictorConfig",
    "RunRecord",
    "SearchResult",
    "SplitConfig",
    "Store",
    "SyntheticConfig",
    "auto",
    "build_predictor",
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
