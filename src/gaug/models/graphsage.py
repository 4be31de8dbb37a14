"""GraphSAGE with the GCN-style aggregator."""

from __future__ import annotations

import functools

from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.graph.dropout import dropout
from gaug.models.base import GNN, Aggregate, Features, aggregate_linear, make_layers
from gaug.models.config import GraphSAGEConfig


class GraphSAGE(GNN):
    r"""GraphSAGE with the GCN-style mean (Hamilton et al., NeurIPS 2017, section 3.3).

    $$
    h_u^{(l+1)} = \sigma\Bigl(W^{(l)} \frac{s\, h_u^{(l)} + \sum_{v \in N(u)} h_v^{(l)}}
    {s + |N(u)|} + b\Bigr)
    $$

    Differs from the paper: s is 1 in GraphSAGE's definition. The paper's scores result from s = 2:
    its graphs have self-loops and the aggregator adds the node once more. On Air-USA and Flickr
    s = 2 is also better on validation nodes; on Cora and Citeseer the two are even there.

    Args:
        in_features: Width of the features.
        num_classes: Number of classes.
        config: Its settings.
    """

    config_type = GraphSAGEConfig
    config: GraphSAGEConfig

    def __init__(
        self, in_features: int, num_classes: int, config: GraphSAGEConfig | None = None
    ) -> None:
        super().__init__()
        self.config = config or GraphSAGEConfig()
        self.layers = make_layers(in_features, num_classes, self.config)

    def classify(self, h: Features, adjacency: Adjacency) -> Tensor:
        """Class logits of every node.  [N, C]"""
        h = dropout(h, self.config.input_dropout, self.training)
        *hidden, last = self.layers
        for number, layer in enumerate(hidden):
            h = aggregate_linear(layer, h, self._mean(adjacency.layer(number))).relu()
            h = dropout(h, self.config.dropout, self.training)
        return aggregate_linear(last, h, self._mean(adjacency.layer(len(hidden))))

    def _mean(self, adjacency: Adjacency) -> Aggregate:
        return functools.partial(adjacency.mean, self_weight=self.config.self_weight)
