"""Classifiers for a single graph, which store its predictions."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.classifier.base import Fitted, NodeClassifier
from gaug.classifier.graph_info import GraphInfo
from gaug.errors import DataError
from gaug.graph.fingerprint import graph_hash


class StoredPredictionsClassifier(NodeClassifier):
    """Returns the predictions of the fit, only for the fitted graph.

    Args:
        fitted: The settings, without a network.
        probabilities: Class probabilities of every node of the fit.  [N, C]
    """

    def __init__(self, fitted: Fitted, probabilities: Tensor) -> None:
        super().__init__(fitted)
        self.probabilities = probabilities

    @classmethod
    def restored(cls, fitted: Fitted, tensors: Mapping[str, Tensor]) -> StoredPredictionsClassifier:
        """The classifier from its saved parts."""
        return cls(fitted, tensors["probabilities"])

    def _probabilities(self, valid: Data, info: GraphInfo, device: torch.device) -> Tensor:
        if graph_hash(valid, with_labels=False) != self.summary.graph_hash:
            raise DataError(
                f"{self.fitted.method.name} predicts only on the graph that it was fitted to: its"
                " GNNs belong to graphs drawn for that one, and this graph has other nodes, edges"
                " or features. Fit it to this graph, or use another method."
            )
        return self.probabilities.to(device)

    def _tensors(self) -> dict[str, Tensor]:
        return {"probabilities": self.probabilities}
