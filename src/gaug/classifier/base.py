"""A fitted classifier, which predicts node classes on the fitted graph or on another."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gaug.classifier.files import write_folder
from gaug.classifier.fit_summary import FitSummary
from gaug.classifier.graph_info import GraphInfo
from gaug.edge_predictors.config import PredictorConfig
from gaug.errors import DataError
from gaug.graph.adjacency import Adjacency
from gaug.graph.valid import standardize
from gaug.models.base import as_features
from gaug.models.calling import apply_model
from gaug.models.spec import ModelSpec
from gaug.provenance import software_versions
from gaug.telling import warn
from gaug.training.config import MethodConfig, TrainingConfig

C = TypeVar("C", bound="NodeClassifier")

_NETWORK = "network."
_METHOD = "method."


@dataclass(frozen=True)
class Fitted:
    """What all fitted classifiers have.

    Attributes:
        model: The kind of model.
        network: The trained model; None if the method does not need it to predict.
        method: Settings of the method.
        training: Settings of the loop.
        summary: Its fitted graph and its scores.
        predictors: Settings of the method's edge predictors, by name.
    """

    model: ModelSpec
    network: nn.Module | None
    method: MethodConfig
    training: TrainingConfig
    summary: FitSummary
    predictors: Mapping[str, PredictorConfig] = dataclasses.field(default_factory=dict)


class NodeClassifier:
    """A fitted classifier, as returned by ``fit`` of a method and by `gaug.load`.

    It predicts on the graph of the fit, or on one with other nodes and edges and the same features.
    This class predicts on the given graph, as DropEdge and training without augmentation do;
    methods that change the graph have their own classes.

    Args:
        fitted: The trained model with its settings.
    """

    def __init__(self, fitted: Fitted) -> None:
        self.fitted = fitted

    @property
    def summary(self) -> FitSummary:
        """Its fitted graph and its scores."""
        return self.fitted.summary

    @property
    def class_names(self) -> list[str]:
        """The name of each class, in the order of the columns of `predict_proba`."""
        return self.summary.class_names

    def predict_proba(self, data: Data, *, info: GraphInfo | None = None) -> Tensor:
        """Class probabilities of every node; labels and masks are ignored.  [N, C]

        In multi-label graphs, the probability of each label.

        Args:
            data: The graph of the fit, or another with the same features.
            info: Names of its nodes and features, if any.
        """
        info = info or GraphInfo()
        valid = self._valid(data, info)
        with torch.no_grad():
            return self._probabilities(valid, info, data.edge_index.device)

    def predict(self, data: Data, *, info: GraphInfo | None = None) -> Tensor:
        """The most likely class of every node [N], or 0/1 for each label if multi-label [N, C].

        Args:
            data: The graph of the fit, or another with the same features.
            info: Names of its nodes and features, if any.
        """
        probabilities = self.predict_proba(data, info=info)
        if self.summary.multilabel:
            return (probabilities > 0.5).long()
        return probabilities.argmax(dim=1)

    def save(self, folder: str | Path) -> None:
        """Write it to a folder as JSON and safetensors; `gaug.load` reads it.

        Args:
            folder: A new or empty folder, or one with a saved classifier, which is replaced.
        """
        fitted = self.fitted
        network = {} if fitted.network is None else fitted.network.state_dict()
        description = {
            "gaug_version": software_versions()["gaug"],
            "model": {
                "name": fitted.model.name,
                "of_a_user": fitted.model.is_custom,
                "settings": fitted.model.config.to_dict(),
            },
            "method": {"name": fitted.method.name, "settings": fitted.method.to_dict()},
            "predictors": {name: part.to_dict() for name, part in fitted.predictors.items()},
            "training": fitted.training.to_dict(),
            "facts": dataclasses.asdict(fitted.summary),
        }
        tensors = {_NETWORK + name: value for name, value in network.items()}
        tensors |= {_METHOD + name: value for name, value in self._tensors().items()}
        write_folder(Path(folder), description, tensors)

    @classmethod
    def restored(
        cls: type[C],
        fitted: Fitted,
        tensors: Mapping[str, Tensor],  # noqa: ARG003 – for classes that use it
    ) -> C:
        """The classifier from its saved parts and the tensors of its method."""
        return cls(fitted)

    def __repr__(self) -> str:
        fitted = self.fitted
        text = f"{type(self).__name__}(model={fitted.model.name!r}, method={fitted.method.name!r}"
        scores = self.summary.score_text()
        return f"{text}, {scores})" if scores else f"{text})"

    def _probabilities(self, valid: Data, info: GraphInfo, device: torch.device) -> Tensor:
        """Class probabilities on a valid graph with the right features.  [N, C]

        Args:
            valid: The graph, on the CPU.
            info: Names of its nodes and features.
            device: Where to compute.
        """
        return self._apply(valid, device)

    def _tensors(self) -> dict[str, Tensor]:
        """What the method needs to predict besides the weights of the model."""
        return {}

    def _apply(self, valid: Data, device: torch.device) -> Tensor:
        network = self.fitted.network
        assert network is not None
        network.to(device).eval()
        features, adjacency = as_features(valid.x).to(device), Adjacency.of(valid).to(device)
        logits = apply_model(network, features, adjacency)
        return logits.sigmoid() if self.summary.multilabel else logits.softmax(dim=1)

    def _valid(self, data: Data, info: GraphInfo) -> Data:
        if data.x is None:
            raise DataError(
                "The graph has no features x, but the model was fitted to a graph with features."
            )
        # Prediction needs nothing else, so nothing else should be checked.
        self.summary.check_features(int(data.x.size(1)), info)
        statistics = data.get("feature_statistics")
        x = self.summary.scaled_features(
            data.x.cpu(), None if statistics is None else statistics.cpu()
        )
        bare = Data(x=x, edge_index=data.edge_index.cpu(), num_nodes=data.num_nodes)
        if data.get("edge_weight") is not None:
            bare.edge_weight = data.edge_weight.cpu()
        valid, notes = valid_for(bare, self.fitted.model)
        if notes:
            warn(" ".join(notes))
        return valid


def valid_for(data: Data, model: ModelSpec) -> tuple[Data, list[str]]:
    """A valid graph for this model, on the CPU, and notes about what was changed.

    Dense features stay dense for a user-defined module. Graphs are processed on the CPU, because
    not every device has sparse matrices.
    """
    on_cpu = copy.copy(data).cpu()
    valid, notes = standardize(on_cpu)
    if model.is_custom and on_cpu.x.layout == torch.strided:
        valid.x = on_cpu.x.float()
    return valid, notes


def as_given(changed: Data, data: Data) -> Data:
    """A changed graph on the device of the given one, with features in their original layout."""
    features, changed.x = changed.x, None
    changed = changed.to(data.edge_index.device)
    changed.x = data.x if data.x.layout == torch.strided else features.to(data.x.device)
    return changed


def split_tensors(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Saved tensors, split into those of the network and those of the method."""

    def under(prefix: str) -> dict[str, Tensor]:
        return {
            name.removeprefix(prefix): value
            for name, value in tensors.items()
            if name.startswith(prefix)
        }

    return under(_NETWORK), under(_METHOD)
