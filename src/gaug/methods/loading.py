"""Loading saved classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gaug.classifier.base import Fitted, NodeClassifier, split_tensors
from gaug.classifier.files import read_folder
from gaug.classifier.fit_summary import FitSummary
from gaug.edge_predictors.registry import PREDICTORS
from gaug.errors import ConfigError, DataError, reason_of
from gaug.methods.registry import METHODS
from gaug.models.config import ModuleConfig
from gaug.models.registry import MODELS
from gaug.models.spec import ModelFactory, ModelSpec
from gaug.training.config import TrainingConfig

# Old spellings of setting values.
_SPELLED_ANEW = {"max-normalised": "max-normalized", "standardised": "standardized"}


def load(folder: str | Path, *, model: ModelFactory | None = None) -> NodeClassifier:
    """A classifier that was saved by `NodeClassifier.save` or ``gaug fit``.

    It predicts exactly what the fitted one did. Nothing is unpickled.

    Args:
        folder: Where it is.
        model: The class or function that made its model, if that is user-defined.

    Raises:
        DataError: If it is not a saved classifier, damaged, or from a newer version.
        ConfigError: If the user-defined class is missing.
    """
    folder = Path(folder)
    description, tensors = read_folder(folder)
    spec = _model_spec(description, model, folder)
    try:
        return _restored(description, tensors, spec)
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        reason = reason_of(error)
        raise DataError(f"The model in {folder} does not fit together: {reason}") from error


def _restored(
    description: Mapping[str, Any], tensors: Mapping[str, Tensor], model: ModelSpec
) -> NodeClassifier:
    summary = FitSummary(**description["facts"])
    of_network, of_method = split_tensors(tensors)
    name, settings = description["method"]["name"], description["method"]["settings"]
    settings = {key: _SPELLED_ANEW.get(value, value) for key, value in settings.items()}
    fitted = Fitted(
        model=model,
        network=_network(model, summary, of_network) if of_network else None,
        method=METHODS.config_type(name)(**settings),
        training=TrainingConfig(**description["training"]),
        summary=summary,
        predictors={
            part: PREDICTORS.config_type(part)(**values)
            for part, values in description["predictors"].items()
        },
    )
    changing = METHODS.class_of(fitted.method.changing)
    return changing.classifier_type.restored(fitted, of_method)


def _model_spec(
    description: Mapping[str, Any], model: ModelFactory | None, folder: Path
) -> ModelSpec:
    saved = description["model"]
    name = saved["name"]
    if not saved["of_a_user"]:
        if model is not None:
            raise ConfigError(
                f"The model in {folder} is the {name!r} of gaug: leave model={_name(model)} out."
            )
        return ModelSpec(name, MODELS.config_type(name)(**saved["settings"]))
    if model is None:
        raise ConfigError(
            f"The model in {folder} is of the class {name}, which is not a part of gaug."
            f" Give it: gaug.load({str(folder)!r}, model={name})."
        )
    return ModelSpec.of(model).with_config(ModuleConfig(**saved["settings"]))


def _name(model: object) -> str:
    return getattr(model, "__qualname__", type(model).__name__)


def _network(model: ModelSpec, summary: FitSummary, weights: dict[str, Tensor]) -> nn.Module:
    if model.is_custom:
        with torch.random.fork_rng(devices=[]):
            network = model.build(summary.in_features, summary.num_classes)
        network.load_state_dict(weights)
    else:
        # On the meta device, so a description cannot request more memory than the weights have.
        with torch.device("meta"):
            network = model.build(summary.in_features, summary.num_classes)
        network.load_state_dict(weights, assign=True)
    return network.eval()
