"""The settings of each model; importing them does not import PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gaug.config import Config, NamedConfig, Range, setting

_POSITIVE = Range(1)
_DROP = Range(0, 1, high_open=True)


@dataclass(frozen=True)
class ModelConfig(NamedConfig):
    """Settings of every model; the defaults are those of the paper's appendix C."""

    layers: int = setting(2, "Number of layers, including the output layer.", within=_POSITIVE)
    hidden: int = setting(128, "Width of the hidden layers.", within=_POSITIVE)
    dropout: float = setting(0.5, "Share of hidden units dropped in training.", within=_DROP)
    input_dropout: float = setting(
        0.0, "Share of input features dropped in training.", within=_DROP
    )
    learning_rate: float = setting(0.01, "Adam's learning rate.", within=Range(0, low_open=True))
    weight_decay: float = setting(5e-4, "L2 penalty on every weight.", within=Range(0))


@dataclass(frozen=True)
class GCNConfig(ModelConfig):
    """Settings of `GCN`."""

    name: ClassVar[str] = "gcn"
    title: ClassVar[str] = "GCN"


@dataclass(frozen=True)
class GraphSAGEConfig(ModelConfig):
    """Settings of `GraphSAGE`."""

    name: ClassVar[str] = "gsage"
    title: ClassVar[str] = "GraphSAGE"

    self_weight: float = setting(
        2.0, "How much the node itself counts in the mean; a neighbor counts 1.", within=Range(0)
    )


@dataclass(frozen=True)
class GATConfig(ModelConfig):
    """Settings of `GAT`."""

    name: ClassVar[str] = "gat"
    title: ClassVar[str] = "GAT"

    hidden: int = setting(16, "Width of each head of a hidden layer.", within=Range(1))
    heads: int = setting(8, "Attention heads per hidden layer.", within=Range(1))
    dropout: float = setting(0.6, "Share of hidden units dropped in training.", within=_DROP)
    input_dropout: float = setting(
        0.6, "Share of input features dropped in training.", within=_DROP
    )
    attention_dropout: float = setting(
        0.6, "Share of attention weights dropped in training.", within=_DROP
    )
    learning_rate: float = setting(0.005, "Adam's learning rate.", within=Range(0, low_open=True))


@dataclass(frozen=True)
class JKNetConfig(ModelConfig):
    """Settings of `JKNet`."""

    name: ClassVar[str] = "jknet"
    title: ClassVar[str] = "JK-Net"

    layers: int = setting(3, "Layers that are concatenated.", within=Range(1))
    self_weight: float = setting(
        2.0, "How much the node itself counts in the mean; a neighbor counts 1.", within=Range(0)
    )


@dataclass(frozen=True)
class MLPConfig(ModelConfig):
    """Settings of `MLP`."""

    name: ClassVar[str] = "mlp"
    title: ClassVar[str] = "MLP"


@dataclass(frozen=True)
class ModuleConfig(Config):
    """How a user-defined module is optimized."""

    learning_rate: float = setting(0.01, "Adam's learning rate.", within=Range(0, low_open=True))
    weight_decay: float = setting(5e-4, "L2 penalty on every weight.", within=Range(0))
