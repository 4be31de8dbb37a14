"""Saved classifiers, read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gaug.classifier.base import Fitted, NodeClassifier, split_tensors
from gaug.classifier.changed_graph import ChangedGraphClassifier
from gaug.classifier.facts import Facts
from gaug.classifier.files import read_folder
from gaug.classifier.mended_graph import MendedGraphClassifier
from gaug.classifier.stored_predictions import RememberedClassifier
from gaug.errors import ConfigError, DataError, reason_of
from gaug.methods import METHOD_CONFIGS
from gaug.methods.gaug_o.classifier import LearnedEdgesClassifier
from gaug.models import MODEL_CONFIGS
from gaug.models.spec import ModelChoice, ModelFactory, ModuleConfig
from gaug.training.loop import TrainingConfig

#: The classifier of each method by the method's name.
CLASSIFIERS: dict[str, type[NodeClassifier]] = {
    "none": NodeClassifier,
    "dropedge": NodeClassifier,
    "adaedge": ChangedGraphClassifier,
    "bgcn": RememberedClassifier,
    "gaug-m": MendedGraphClassifier,
    "gaug-o": LearnedEdgesClassifier,
}


def load(folder: str | Path, *, model: ModelFactory | None = None) -> NodeClassifier:
    """A classifier that was saved by `NodeClassifier.save` or ``gaug fit``.

    It predicts exactly what the fitted one did. Nothing is unpickled.

    Args:
        folder: Where it is.
        model: The user's class or function that made its model; needed for those alone.

    Raises:
        DataError: If it is no saved classifier, damaged, or of a newer version.
        ConfigError: If it needs the user's class and there is none.
    """
    folder = Path(folder)
    description, tensors = read_folder(folder)
    choice = _choice(description, model, folder)
    try:
        return _restored(description, tensors, choice)
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        reason = reason_of(error)
        raise DataError(f"The model in {folder} does not fit together: {reason}") from error


def _restored(
    description: Mapping[str, Any], tensors: Mapping[str, Tensor], choice: ModelChoice
) -> NodeClassifier:
    facts = Facts(**description["facts"])
    of_network, of_method = split_tensors(tensors)
    method = description["method"]
    kind = CLASSIFIERS[method["name"]]
    fitted = Fitted(
        choice=choice,
        network=_network(choice, facts, of_network) if of_network else None,
        method=METHOD_CONFIGS[method["name"]](**method["settings"]),
        training=TrainingConfig(**description["training"]),
        facts=facts,
        parts=description["predictors"],
    )
    return kind.restored(fitted, of_method)


def _choice(
    description: Mapping[str, Any], model: ModelFactory | None, folder: Path
) -> ModelChoice:
    saved = description["model"]
    name = saved["name"]
    if not saved["of_a_user"]:
        if model is not None:
            raise ConfigError(
                f"The model in {folder} is the {name!r} of gaug: leave model={_name(model)} out."
            )
        return ModelChoice(name, MODEL_CONFIGS[name](**saved["settings"]))
    if model is None:
        raise ConfigError(
            f"The model in {folder} is of the class {name}, which is not a part of gaug."
            f" Give it: gaug.load({str(folder)!r}, model={name})."
        )
    return ModelChoice.of(model).with_config(ModuleConfig(**saved["settings"]))


def _name(model: object) -> str:
    return getattr(model, "__qualname__", type(model).__name__)


def _network(choice: ModelChoice, facts: Facts, weights: dict[str, Tensor]) -> nn.Module:
    if choice.is_users:
        with torch.random.fork_rng(devices=[]):
            network = choice.build(facts.in_features, facts.num_classes)
        network.load_state_dict(weights)
    else:
        # On no device, so that a description can ask for no more memory than the weights have.
        with torch.device("meta"):
            network = choice.build(facts.in_features, facts.num_classes)
        network.load_state_dict(weights, assign=True)
    return network.eval()
