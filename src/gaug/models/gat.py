"""The graph attention network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gaug.graph.adjacency import Adjacency
from gaug.graph.dropout import dropout
from gaug.models.base import GNN, Features, Linear
from gaug.models.config import GATConfig


class GAT(GNN):
    r"""Graph attention network (Veličković et al., ICLR 2018).

    $$
    \alpha_{uv} = \frac{w_{uv} \exp(\mathrm{LeakyReLU}(a_d^\top W h_u + a_s^\top W h_v))}
    {\sum_{t \in \{u\} \cup N(u)} w_{ut} \exp(\mathrm{LeakyReLU}(a_d^\top W h_u
    + a_s^\top W h_t))}, \qquad
    h_u' = \sum_v \alpha_{uv} W h_v + b
    $$

    Hidden heads are concatenated and followed by ELU; the output layer has one head. The edge
    weight $w$ scales the unnormalized attention: 1 gives the published layer, 0 removes the edge.

    Args:
        in_features: Width of the features.
        num_classes: Number of classes.
        config: Its settings.
    """

    config_type = GATConfig
    config: GATConfig

    def __init__(self, in_features: int, num_classes: int, config: GATConfig | None = None) -> None:
        super().__init__()
        self.config = config or GATConfig()
        inner = self.config.heads * self.config.hidden
        widths = [in_features, *[inner] * (self.config.layers - 1)]
        heads = [self.config.heads] * (self.config.layers - 1) + [1]
        outs = [self.config.hidden] * (self.config.layers - 1) + [num_classes]
        self.layers = nn.ModuleList(map(AttentionLayer, widths, heads, outs))

    def classify(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Class logits of every node.  [N, C]"""
        h = dropout(h, self.config.input_dropout, self.training)
        attention_dropout = self.config.attention_dropout if self.training else 0.0
        *hidden, last = self.layers
        for number, layer in enumerate(hidden):
            h = functional.elu(layer(h, adjacency.layer(number), attention_dropout))
            h = dropout(h, self.config.dropout, self.training)
        logits: Tensor = last(h, adjacency.layer(len(hidden)), attention_dropout)
        return logits


class AttentionLayer(nn.Module):
    """One attention layer that concatenates its heads."""

    def __init__(self, in_features: int, heads: int, out_features: int) -> None:
        super().__init__()
        self.linear = Linear(in_features, heads * out_features)
        self.from_target = nn.Parameter(torch.empty(heads, out_features, 1))
        self.from_source = nn.Parameter(torch.empty(heads, out_features, 1))
        bound = (6.0 / (heads + out_features)) ** 0.5
        nn.init.uniform_(self.from_target, -bound, bound)
        nn.init.uniform_(self.from_source, -bound, bound)

    def forward(self, h: Features, adjacency: Adjacency, attention_dropout: float) -> Tensor:
        """Attended features with bias.  [N, heads * out]"""
        heads, out_features, _ = self.from_target.shape
        z = self.linear(h).view(-1, heads, out_features).transpose(0, 1).contiguous()  # [H, N, C]
        target, source = (z @ part for part in (self.from_target, self.from_source))
        attended = adjacency.attend(z, target.squeeze(2), source.squeeze(2), attention_dropout)
        return attended.transpose(0, 1).flatten(1) + self.linear.bias
