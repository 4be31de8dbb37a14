"""The baseline that uses no edges."""

from __future__ import annotations

from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.graph.dropout import dropout
from gaug.models.base import GNN, Features, make_layers
from gaug.models.config import MLPConfig


class MLP(GNN):
    """A multi-layer perceptron on the features alone, to show what the edges add.

    Args:
        in_features: Width of the features.
        num_classes: Number of classes.
        config: Its settings.
    """

    config_type = MLPConfig
    uses_edges = False

    def __init__(self, in_features: int, num_classes: int, config: MLPConfig | None = None) -> None:
        super().__init__()
        self.config = config or MLPConfig()
        self.layers = make_layers(in_features, num_classes, self.config)

    def classify(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Class logits of every node; the edges are ignored.  [N, C]"""
        h = dropout(h, self.config.input_dropout, self.training)
        *hidden, last = self.layers
        for layer in hidden:
            h = (layer(h) + layer.bias).relu()
            h = dropout(h, self.config.dropout, self.training)
        logits: Tensor = last(h) + last.bias
        return logits
