"""The models by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaug.models.config import ModelConfig
from gaug.registry import Registry

if TYPE_CHECKING:
    from gaug.models.base import GNN

#: The models by name: settings and class of each.
MODELS: Registry[ModelConfig, GNN] = Registry(
    "model",
    "gaug.models",
    (
        ("gaug.models.config:GCNConfig", "gaug.models.gcn:GCN"),
        ("gaug.models.config:GraphSAGEConfig", "gaug.models.graphsage:GraphSAGE"),
        ("gaug.models.config:GATConfig", "gaug.models.gat:GAT"),
        ("gaug.models.config:JKNetConfig", "gaug.models.jknet:JKNet"),
        ("gaug.models.config:MLPConfig", "gaug.models.mlp:MLP"),
    ),
)
