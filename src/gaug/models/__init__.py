"""Node classifiers, by name."""

from __future__ import annotations

from gaug.errors import unknown_name
from gaug.models.base import GNN, ModelConfig
from gaug.models.gat import GAT, GATConfig
from gaug.models.gcn import GCN, GCNConfig
from gaug.models.graphsage import GraphSAGE, GraphSAGEConfig
from gaug.models.jknet import JKNet, JKNetConfig
from gaug.models.mlp import MLP, MLPConfig

#: The settings of each model by its name on the command line.
MODEL_CONFIGS: dict[str, type[ModelConfig]] = {
    config.name: config
    for config in (GCNConfig, GraphSAGEConfig, GATConfig, JKNetConfig, MLPConfig)
}


def model_config(name: str) -> ModelConfig:
    """The default settings of a model."""
    if name not in MODEL_CONFIGS:
        raise unknown_name("model", name, MODEL_CONFIGS)
    return MODEL_CONFIGS[name]()


def build_model(config: ModelConfig, in_features: int, num_classes: int) -> GNN:
    """A new model with random weights."""
    match config:
        case GCNConfig():
            return GCN(in_features, num_classes, config)
        case GraphSAGEConfig():
            return GraphSAGE(in_features, num_classes, config)
        case GATConfig():
            return GAT(in_features, num_classes, config)
        case JKNetConfig():
            return JKNet(in_features, num_classes, config)
        case MLPConfig():
            return MLP(in_features, num_classes, config)
    raise unknown_name("model", type(config).__name__, MODEL_CONFIGS)


__all__ = [
    "GAT",
    "GCN",
    "GNN",
    "MLP",
    "MODEL_CONFIGS",
    "GATConfig",
    "GCNConfig",
    "GraphSAGE",
    "GraphSAGEConfig",
    "JKNet",
    "JKNetConfig",
    "MLPConfig",
    "ModelConfig",
    "build_model",
    "model_config",
]
