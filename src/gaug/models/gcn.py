"""The graph convolutional network."""

from __future__ import annotations

from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.graph.dropout import dropout
from gaug.models.base import GNN, Features, aggregate_linear, make_layers
from gaug.models.config import GCNConfig


class GCN(GNN):
    r"""Graph convolutional network (Kipf and Welling, ICLR 2017; the paper's equation 1).

    $$
    H^{(l+1)} = \sigma\bigl(\tilde D^{-1/2} (A + I) \tilde D^{-1/2} H^{(l)} W^{(l)} + b\bigr)
    $$

    with ReLU between layers and none after the last.

    Args:
        in_features: Width of the features.
        num_classes: Number of classes.
        config: Its settings.
    """

    config_type = GCNConfig

    def __init__(self, in_features: int, num_classes: int, config: GCNConfig | None = None) -> None:
        super().__init__()
        self.config = config or GCNConfig()
        self.layers = make_layers(in_features, num_classes, self.config)

    def classify(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Class logits of every node.  [N, C]"""
        h = dropout(h, self.config.input_dropout, self.training)
        *hidden, last = self.layers
        for number, layer in enumerate(hidden):
            h = aggregate_linear(layer, h, adjacency.layer(number).symmetric).relu()
            h = dropout(h, self.config.dropout, self.training)
        return aggregate_linear(last, h, adjacency.layer(len(hidden)).symmetric)
