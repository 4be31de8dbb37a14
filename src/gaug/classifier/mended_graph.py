"""The fitted classifier of GAug-M, which keeps its change and offers edges to new nodes."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.classifier.base import Fitted, NodeClassifier, as_given
from gaug.classifier.changed_graph import carried_over
from gaug.classifier.graph_info import GraphInfo
from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.build import build_predictor
from gaug.edge_predictors.classes import JoinedPredictor
from gaug.errors import DataError
from gaug.graph.change import GraphChange
from gaug.graph.edges import keys_to_pairs, pair_keys, undirected_pairs
from gaug.graph.matrices import from_scipy, to_scipy_features
from gaug.pairs import ranking

_PREDICTOR = "predictor."
_FIRST = "first."
_NETWORK = "network."


class MendedGraphClassifier(NodeClassifier):
    """Predicts on the graph with the change of the fit, and with edges offered to new nodes.

    On the graph of the fit, the change is the same as in the fit. On another graph:

    - Edges that the fit added or removed are added or removed again if both nodes exist.
    - The fitted predictor offers edges to new nodes, without fitting again: an auto-encoder embeds
      all nodes of the graph with its trained weights, features are weighted and projected as in the
      fit, and common neighbors are those in this graph. Of all pairs with a new node, the best
      non-edges are added, as many per node as in the fit, rounded up (``ceil(a n / N)`` for n new
      nodes if the fit added a edges to N nodes), and the ``floor(remove_fraction * |E'|)`` worst of
      the |E'| edges of new nodes are removed.

    After a second round (``rounds=2``) the classes of new nodes are first predicted by the
    classifier of the first round, and count beside the predictor.

    With ``inference=original`` it predicts on the given graph.

    Args:
        fitted: The trained model with its settings.
        change: What the fit added and removed, by the nodes of its graph.
        predictor: The fitted predictor; None if a user-defined one was saved, which offers nothing.
        first: The classifier of the first round, if the change is that of a second. It predicts the
            classes of new nodes, which the predictor of the second round goes by.
    """

    def __init__(
        self,
        fitted: Fitted,
        change: GraphChange,
        predictor: EdgePredictor | None,
        first: MendedGraphClassifier | None = None,
    ) -> None:
        super().__init__(fitted)
        self.change = change
        self.predictor = predictor
        self.first = first
        self.settings: dict[str, Any] = fitted.method.changing.to_dict()

    @classmethod
    def restored(cls, fitted: Fitted, tensors: Mapping[str, Tensor]) -> MendedGraphClassifier:
        """The classifier from its saved parts."""
        change = GraphChange(tensors["added"], tensors["removed"])
        settings = fitted.method.changing.to_dict()
        predictor = None
        adapts = not any(config.looks_at_labels for config in fitted.predictors.values())
        if settings["predictor"] != "custom" and adapts:
            predictor = build_predictor(
                settings["predictor"], fitted.predictors, scale=settings["combination"]
            )
            of_first = _below(_FIRST, tensors)
            predictor.restore(_below(_PREDICTOR, of_first or tensors))
        if _FIRST + "added" not in tensors:
            return cls(fitted, change, predictor)
        return cls._of_second_round(fitted, change, predictor, tensors)

    @classmethod
    def _of_second_round(
        cls,
        fitted: Fitted,
        change: GraphChange,
        predictor: EdgePredictor | None,
        tensors: Mapping[str, Tensor],
    ) -> MendedGraphClassifier:
        """The classifier of a second round from its saved parts and the predictor of the first."""
        of_first, settings = _below(_FIRST, tensors), fitted.method.changing.to_dict()
        network = copy.deepcopy(fitted.network)
        assert network is not None
        network.load_state_dict(_below(_NETWORK, of_first))
        first = cls(
            dataclasses.replace(fitted, network=network),
            GraphChange(of_first["added"], of_first["removed"]),
            predictor,
        )
        if predictor is None:
            return cls(fitted, change, None, first)
        joined = JoinedPredictor(
            predictor, torch.empty(0, 0), settings["class_weight"], settings["combination"]
        )
        joined.restore(_below(_PREDICTOR, tensors))
        return cls(fitted, change, joined, first)

    def augmented(self, data: Data, *, info: GraphInfo | None = None) -> Data:
        """The better graph, including new nodes, with ``added_edges`` and ``removed_edges``.

        Args:
            data: The graph of the fit, or another with the same features.
            info: Names of its nodes and features, if any.
        """
        info = info or GraphInfo()
        valid = self._valid(data, info)
        change = self._change_of(valid, info)
        better = change.apply(valid)
        better.added_edges, better.removed_edges = change.added, change.removed
        return as_given(better, data)

    def _probabilities(self, valid: Data, info: GraphInfo, device: torch.device) -> Tensor:
        if self.settings["inference"] == "modified":
            valid = self._change_of(valid, info).apply(valid)
        return self._apply(valid, device)

    def _change_of(self, valid: Data, info: GraphInfo) -> GraphChange:
        num_nodes = int(valid.num_nodes)
        places = self.summary.places(num_nodes, info)
        kept = carried_over(self.change, places, valid)
        known = torch.zeros(num_nodes, dtype=torch.bool)
        known[places[places >= 0]] = True
        new = (~known).nonzero().flatten()
        if new.numel() == 0:
            return kept
        if self.predictor is None:
            raise DataError(
                f"The graph has {new.numel()} nodes that the fit did not know, and a"
                " user-defined predictor is not saved with the model, so it cannot offer them"
                " edges. Fit it again, or predict on the nodes of the fit."
            )
        classes = None if self.first is None else self.first._classes(valid, info)
        found = self._offered(self.predictor, valid, new, classes)
        return GraphChange(
            torch.cat([kept.added, found.added], dim=1),
            torch.cat([kept.removed, found.removed], dim=1),
        )

    def _classes(self, valid: Data, info: GraphInfo) -> Tensor:
        """Class probabilities on a valid graph, on the CPU.  [N, C]"""
        return self._probabilities(valid, info, torch.device("cpu"))

    @torch.no_grad()
    def _offered(
        self, predictor: EdgePredictor, data: Data, new: Tensor, classes: Tensor | None
    ) -> GraphChange:
        """The edges to add to and remove from new nodes."""
        num_nodes = int(data.num_nodes)
        # New nodes come first, so that their pairs are the first rows.
        old = torch.ones(num_nodes, dtype=torch.bool)
        old[new] = False
        order = torch.cat([new, old.nonzero().flatten()])
        if classes is not None and isinstance(predictor, JoinedPredictor):
            predictor = predictor.of_nodes(classes[order])
        adapted = predictor.adapted(renumbered(data, order))
        rate = self.change.added.size(1) / self.summary.num_nodes
        free = ranking.num_non_edges(num_nodes, adapted.edges_, new.numel())
        added = adapted.top_non_edges(
            min(math.ceil(rate * new.numel()), free),
            per_node=self.settings["allocation"] == "per-node",
            among_first=new.numel(),
        )
        own = adapted.edges_[:, adapted.edges_[0] < new.numel()]
        count = math.floor(self._remove_fraction * own.size(1))
        removed = ranking.bottom_edges(adapted, own, num_nodes, count)
        back = [order[pairs].sort(dim=0).values for pairs in (added.pairs, removed.pairs)]
        return GraphChange(*back)

    @property
    def _remove_fraction(self) -> float:
        second = None if self.first is None else self.settings["second_remove_fraction"]
        share: float = self.settings["remove_fraction"] if second is None else second
        return share

    def _tensors(self) -> dict[str, Tensor]:
        learned = {} if self.predictor is None else self.predictor.learned()
        found = {
            "added": self.change.added,
            "removed": self.change.removed,
            **{_PREDICTOR + name: value for name, value in learned.items()},
        }
        if self.first is not None:
            network = self.first.fitted.network
            assert network is not None
            parts = self.first._tensors()
            parts |= {_NETWORK + name: value for name, value in network.state_dict().items()}
            found |= {_FIRST + name: value for name, value in parts.items()}
        return found


def _below(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose name has a prefix, by the rest of the name."""
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def renumbered(data: Data, order: Tensor) -> Data:
    """The graph with its nodes in another order, with only what a predictor uses."""
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel())
    pairs = place[undirected_pairs(data.edge_index)]
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    num_nodes = order.numel()
    keys = pair_keys(both, num_nodes).sort()
    other = Data(
        edge_index=keys_to_pairs(keys.values, num_nodes),
        num_nodes=num_nodes,
    )
    weight = data.get("edge_weight")
    if weight is not None:
        once = weight[data.edge_index[0] < data.edge_index[1]]
        other.edge_weight = once.repeat(2)[keys.indices]
    if data.x.layout == torch.strided:
        other.x = data.x[order]
    else:
        other.x = from_scipy(to_scipy_features(data.x)[np.asarray(order)])
    return other
