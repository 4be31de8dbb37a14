"""Jumping-knowledge network over GraphSAGE layers."""

from __future__ import annotations

import functools

import torch
from torch import Tensor, nn

from gaug.graph.adjacency import Adjacency
from gaug.graph.dropout import dropout, dropout_dense
from gaug.models.base import GNN, Features, Linear, aggregate_linear
from gaug.models.config import JKNetConfig


class JKNet(GNN):
    r"""Jumping-knowledge network (Xu et al., ICML 2018) with concatenation.

    $$
    h_u^{(l+1)} = \mathrm{ReLU}\Bigl(W^{(l)} \frac{s\, h_u^{(l)}
    + \sum_{v \in N(u)} h_v^{(l)}}{s + |N(u)|} + b\Bigr), \qquad
    \hat y_u = W \,[h_u^{(1)} \Vert \dots \Vert h_u^{(L)}] + b
    $$

    The layers are `GraphSAGE`'s, with the same s = 2.

    Args:
        in_features: Width of the features.
        num_classes: Number of classes.
        config: Its settings.
    """

    config_type = JKNetConfig
    config: JKNetConfig

    def __init__(
        self, in_features: int, num_classes: int, config: JKNetConfig | None = None
    ) -> None:
        super().__init__()
        self.config = config or JKNetConfig()
        depth, width = self.config.layers, self.config.hidden
        widths = [in_features, *[width] * depth]
        self.layers = nn.ModuleList(map(Linear, widths[:-1], widths[1:]))
        self.output = Linear(depth * width, num_classes)

    def classify(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Class logits of every node.  [N, C]"""
        h = dropout(h, self.config.input_dropout, self.training)
        outputs: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            graph = adjacency.layer(number)
            aggregate = functools.partial(graph.mean, self_weight=self.config.self_weight)
            hidden = aggregate_linear(layer, h, aggregate).relu()
            h = hidden = dropout_dense(hidden, self.config.dropout, self.training)
            outputs.append(hidden)
        logits: Tensor = self.output(torch.cat(outputs, dim=1)) + self.output.bias
        return logits
