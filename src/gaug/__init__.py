"""Better node classification by mending the graph.

An implementation of "Data Augmentation for Graph Neural Networks" (Zhao et al., AAAI 2021).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaug.choosing.auto import AutoResult as AutoResult
    from gaug.choosing.auto import auto as auto
    from gaug.choosing.comparison import Comparison as Comparison
    from gaug.choosing.search import SearchResult as SearchResult
    from gaug.choosing.search import search as search
    from gaug.classifier.base import NodeClassifier as NodeClassifier
    from gaug.classifier.graph_info import GraphInfo as GraphInfo
    from gaug.data.catalog.loading import load_graph as load_graph
    from gaug.data.config import SplitConfig as SplitConfig
    from gaug.data.files.graph_files import GraphFiles as GraphFiles
    from gaug.data.files.networkx import from_networkx as from_networkx
    from gaug.data.loaded import LoadedGraph as LoadedGraph
    from gaug.data.opening import open_graph as open_graph
    from gaug.data.opening import split_graph as split_graph
    from gaug.data.source import GraphSource as GraphSource
    from gaug.data.splits import make_split as make_split
    from gaug.data.synthetic import SyntheticConfig as SyntheticConfig
    from gaug.data.synthetic import planted_graph as planted_graph
    from gaug.edge_predictors.base import EdgePredictor as EdgePredictor
    from gaug.edge_predictors.build import build_predictor as build_predictor
    from gaug.edge_predictors.combined import CombinedPredictor as CombinedPredictor
    from gaug.edge_predictors.config import PredictorConfig as PredictorConfig
    from gaug.edge_predictors.embedding import EmbeddingPredictor as EmbeddingPredictor
    from gaug.errors import GaugError as GaugError
    from gaug.graph.valid import standardize as standardize
    from gaug.inspection.augmentation import Augmentation as Augmentation
    from gaug.inspection.inspect import Inspection as Inspection
    from gaug.inspection.inspect import inspect as inspect
    from gaug.memory import set_max_memory as set_max_memory
    from gaug.methods.adaedge.config import AdaEdgeConfig as AdaEdgeConfig
    from gaug.methods.adaedge.method import AdaEdge as AdaEdge
    from gaug.methods.bgcn.config import BGCNConfig as BGCNConfig
    from gaug.methods.bgcn.method import BGCN as BGCN
    from gaug.methods.dropedge.config import DropEdgeConfig as DropEdgeConfig
    from gaug.methods.dropedge.method import DropEdge as DropEdge
    from gaug.methods.dropedge.method import drop_edges as drop_edges
    from gaug.methods.gaug_m.config import GAugMConfig as GAugMConfig
    from gaug.methods.gaug_m.method import GAugM as GAugM
    from gaug.methods.gaug_o.config import GAugOConfig as GAugOConfig
    from gaug.methods.gaug_o.edge_sampler import EdgeSampler as EdgeSampler
    from gaug.methods.gaug_o.method import GAugO as GAugO
    from gaug.methods.loading import load as load
    from gaug.methods.method import Method as Method
    from gaug.methods.none.method import NoAugmentation as NoAugmentation
    from gaug.methods.stack.method import Stack as Stack
    from gaug.models.base import GNN as GNN
    from gaug.models.config import GATConfig as GATConfig
    from gaug.models.config import GCNConfig as GCNConfig
    from gaug.models.config import GraphSAGEConfig as GraphSAGEConfig
    from gaug.models.config import JKNetConfig as JKNetConfig
    from gaug.models.config import MLPConfig as MLPConfig
    from gaug.models.config import ModelConfig as ModelConfig
    from gaug.models.gat import GAT as GAT
    from gaug.models.gcn import GCN as GCN
    from gaug.models.graphsage import GraphSAGE as GraphSAGE
    from gaug.models.jknet import JKNet as JKNet
    from gaug.models.mlp import MLP as MLP
    from gaug.runs.evaluate import Evaluation as Evaluation
    from gaug.runs.evaluate import evaluate as evaluate
    from gaug.runs.execute import execute as execute
    from gaug.runs.plan import Plan as Plan
    from gaug.runs.record import RunRecord as RunRecord
    from gaug.runs.store import Store as Store
    from gaug.runs.summary import summarize as summarize
    from gaug.training.config import MethodConfig as MethodConfig
    from gaug.training.config import TrainingConfig as TrainingConfig
    from gaug.training.hooks import AugmentedRun as AugmentedRun

# Where each public name lives. It is imported on first use: PyTorch takes seconds to import, and
# `gaug --help` should not.
_HOMES = {
    "AdaEdge": "gaug.methods.adaedge.method",
    "AdaEdgeConfig": "gaug.methods.adaedge.config",
    "Augmentation": "gaug.inspection.augmentation",
    "AugmentedRun": "gaug.training.hooks",
    "AutoResult": "gaug.choosing.auto",
    "BGCN": "gaug.methods.bgcn.method",
    "BGCNConfig": "gaug.methods.bgcn.config",
    "CombinedPredictor": "gaug.edge_predictors.combined",
    "Comparison": "gaug.choosing.comparison",
    "DropEdge": "gaug.methods.dropedge.method",
    "DropEdgeConfig": "gaug.methods.dropedge.config",
    "EdgePredictor": "gaug.edge_predictors.base",
    "EdgeSampler": "gaug.methods.gaug_o.edge_sampler",
    "EmbeddingPredictor": "gaug.edge_predictors.embedding",
    "Evaluation": "gaug.runs.evaluate",
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
    "Plan": "gaug.runs.plan",
    "PredictorConfig": "gaug.edge_predictors.config",
    "RunRecord": "gaug.runs.record",
    "SearchResult": "gaug.choosing.search",
    "SplitConfig": "gaug.data.config",
    "Stack": "gaug.methods.stack.method",
    "Store": "gaug.runs.store",
    "SyntheticConfig": "gaug.data.synthetic",
    "TrainingConfig": "gaug.training.config",
    "auto": "gaug.choosing.auto",
    "build_predictor": "gaug.edge_predictors.build",
    "drop_edges": "gaug.methods.dropedge.method",
    "evaluate": "gaug.runs.evaluate",
    "execute": "gaug.runs.execute",
    "from_networkx": "gaug.data.files.networkx",
    "inspect": "gaug.inspection.inspect",
    "load": "gaug.methods.loading",
    "load_graph": "gaug.data.catalog.loading",
    "make_split": "gaug.data.splits",
    "open_graph": "gaug.data.opening",
    "planted_graph": "gaug.data.synthetic",
    "search": "gaug.choosing.search",
    "set_max_memory": "gaug.memory",
    "split_graph": "gaug.data.opening",
    "standardize": "gaug.graph.valid",
    "summarize": "gaug.runs.summary",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
