"""A stack of two methods: one changes the graph, the other varies the result in each epoch."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import torch

from gaug.classifier.base import NodeClassifier
from gaug.edge_predictors.config import PredictorConfig
from gaug.errors import ConfigError
from gaug.methods.method import Method
from gaug.methods.registry import METHODS
from gaug.methods.settings import changed_of_model
from gaug.methods.stack.config import StackConfig, stack_config
from gaug.methods.stack.run import StackRun
from gaug.methods.trained import Trained
from gaug.models.spec import Model, ModelSpec
from gaug.pairs.ranking import OnShare
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun, Visible


class Stack(Method[StackConfig, NodeClassifier]):
    """A method that changes the graph once, then one that varies it in each epoch.

    The first part makes its graph. GAug-M has it before any training; AdaEdge trains all its
    rounds, and that of the best round is taken. Then the second part trains as if the changed graph
    were the original one, from new random weights. Predictions are made where the first part makes
    them, on the changed graph. A fitted classifier is that of the first part, so it changes a graph
    with new nodes as the first part alone would.

    By name it is ``gaug-m+dropedge``, and so on, with the settings of both.

    Args:
        first: The method that changes the graph once: `GAugM` or `AdaEdge`.
        second: The method that varies it in each epoch: `GAugO` or `DropEdge`.
        model: The classifier, as for every method.
        training: Settings of the loop.
        seed: Seed of everything that is random.
        settings: Single settings of the model or the loop by name.

    Examples:
        >>> from gaug import DropEdge, GAugM, load_graph
        >>> both = Stack(GAugM(predictor="ra"), DropEdge(drop_fraction=0.3), epochs=5)
        >>> both
        Stack(GAugM(predictor='ra'), DropEdge(drop_fraction=0.3), epochs=5)
        >>> both.fit(load_graph("karate")).change.added.shape[1]
        23
    """

    config_type = StackConfig

    def __init__(
        self,
        first: Method[Any, Any],
        second: Method[Any, Any],
        *,
        model: Model = "gcn",
        training: TrainingConfig | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        for part in (first, second):
            _check_part(part)
        config = stack_config(first.config, second.config)
        of_parts = settings.keys() & {field.name for field in dataclasses.fields(config)}
        if of_parts:
            one = min(of_parts)
            raise ConfigError(
                f"{one} is a setting of a part of the stack. Give it to that part, for instance"
                f" {type(first).__name__}({one}={settings[one]!r})."
            )
        super().__init__(
            config,
            model=model,
            training=training,
            seed=seed,
            predictors={**first.predictors, **second.predictors},
            **settings,
        )
        self.first, self.second = first, second
        self.classifier_type = first.classifier_type

    @classmethod
    def built(
        cls,
        config: StackConfig,
        *,
        model: Model = "gcn",
        training: TrainingConfig | None = None,
        seed: int = 0,
        predictors: Mapping[str, PredictorConfig],
    ) -> Stack:
        """A stack of registered methods from its settings."""
        first, second = (
            METHODS.class_of(part).built(
                part, predictors={name: predictors[name] for name in part.predictor_configs()}
            )
            for part in config.parts
        )
        return cls(first, second, model=model, training=training, seed=seed)

    @property
    def looks_at_labels(self) -> bool:
        """Whether a part does, which makes it a control, not a method."""
        return any(part.looks_at_labels for part in self._parts())

    @property
    def is_custom(self) -> bool:
        """Whether a part is user-defined or has a user-defined part."""
        return any(
            part.is_custom
            or (
                part.config.name in METHODS and type(part) is not METHODS.class_of(part.config.name)
            )
            for part in self._parts()
        )

    def max_epochs(self, training_epochs: int) -> int:
        """Maximum epochs of both parts; none of the first if its graph is known before."""
        first, second = self._parts()
        before = 0 if first.knows_its_graph else first.max_epochs(training_epochs)
        return before + second.max_epochs(training_epochs)

    def prepare(self, visible: Visible, seed: int, *, on_share: OnShare | None = None) -> Stack:
        """Prepare both parts, the second for the changed graph if it is known already."""
        self.seed = seed
        first, second = self._parts()
        self.first = cast("Method[Any, Any]", first.prepare(visible, seed, on_share=on_share))
        if self.first.knows_its_graph:
            changed = self.first.start(visible, torch.Generator()).next_round(None)
            assert changed is not None, "it has a graph to train on"
            graph = changed.adjacency if changed.trained_on is None else changed.trained_on
            visible = dataclasses.replace(visible, adjacency=graph)
        self.second = cast("Method[Any, Any]", second.prepare(visible, seed))
        return self

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        """Open one run."""
        known = self.first.knows_its_graph

        def open_second(changed: Visible) -> AugmentedRun:
            method = self.second
            if not known:  # each run has a graph of its own
                again = copy.copy(method).prepare(changed, self.seed)
                method = cast("Method[Any, Any]", again)
            return method.start(changed, generator)

        first = self.first.start(visible, generator)
        return StackRun(visible, generator, first, known, open_second)

    def _classifier(self, trained: Trained) -> NodeClassifier:
        classifier: NodeClassifier = self.first._classifier(trained)
        return classifier

    def _parts(self) -> tuple[Method[Any, Any], Method[Any, Any]]:
        """Both methods with the settings, the model, the loop and the seed of the stack."""
        first, second = (
            _with_settings(part, config, self)
            for part, config in zip((self.first, self.second), self.config.parts, strict=True)
        )
        return first, second

    def __repr__(self) -> str:
        plain = ModelSpec.of("gcn"), TrainingConfig()
        parts = []
        for part in self._parts():
            part.model, part.training = plain
            parts.append(repr(part))
        parts += changed_of_model(self.model, self.training)
        return f"{type(self).__name__}({', '.join(parts)})"


def _check_part(part: object) -> None:
    if not isinstance(part, Method):
        raise ConfigError(
            f"A part of a stack must be a method, such as GAugM() or DropEdge(), got {part!r:.80}."
        )
    own = (part.model, part.training, part.seed)
    if own != (ModelSpec.of("gcn"), TrainingConfig(), 0):
        raise ConfigError(
            f"Model, training and seed are those of the stack, but {type(part).__name__} has its"
            " own. Write for instance Stack(GAugM(), DropEdge(), model='gat', epochs=100)."
        )


def _with_settings(part: Method[Any, Any], config: Any, stack: Stack) -> Method[Any, Any]:
    own = copy.copy(part)
    own.config = config
    own.predictors = {name: stack.predictors[name] for name in config.predictor_configs()}
    own.model, own.training, own.seed = stack.model, stack.training, stack.seed
    return own
