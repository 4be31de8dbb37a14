"""What every method shares that a user calls: settings by keyword, and `fit`."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.classifier.base import Fitted, NodeClassifier, valid_for
from gaug.classifier.facts import Facts, GraphInfo
from gaug.config import Config, assign_settings
from gaug.data.fitting_split import with_fitting_masks
from gaug.errors import ConfigError, reason_of
from gaug.graph.fingerprint import graph_hash
from gaug.graph.sparse import SparseMatrix
from gaug.models.spec import Model, ModelChoice
from gaug.seeding import run_seed
from gaug.training.hooks import Augmentation, MethodConfig, RoundResult, best_round
from gaug.training.loop import (
    OnEpoch,
    Optimization,
    RunResult,
    TrainingConfig,
    apply_model,
    train_run,
)
from gaug.training.task import Task

C = TypeVar("C", bound=MethodConfig)


@dataclass(frozen=True)
class Trained:
    """One run with what it was trained on, from which a classifier is made.

    Attributes:
        valid: The graph.
        task: The graph with its split, laid out.
        method: The method, prepared for the graph.
        result: What the run came to.
        choice: The model.
        training: Settings of the loop.
        facts: What the classifier will know of the graph.
    """

    valid: Data
    task: Task
    method: Augmentation
    result: RunResult
    choice: ModelChoice
    training: TrainingConfig
    facts: Facts

    @property
    def best(self) -> RoundResult:
        """The round that counts."""
        return best_round(self.result.rounds)

    def fitted(self, *, with_network: bool = True, **parts: Any) -> Fitted:
        """What all classifiers have, with the weights of the round that counts."""
        network = None
        if with_network:
            with torch.random.fork_rng(devices=[]):
                network = self.choice.build(self.task.in_features, self.task.num_classes)
            network.load_state_dict(dict(self.best.weights))
            network.to(self.task.labels.device).eval()
        return Fitted(self.choice, network, self.method.config, self.training, self.facts, **parts)


class Method(Augmentation, Generic[C]):
    """Base of the methods: an estimator in the manner of scikit-learn.

    ``fit(data)`` trains once, by the loop that every method shares, and gives a fitted classifier;
    the method itself stays as it is and can be fitted to another graph.

    Args:
        config: Settings of the method.
        model: The classifier: a name (``gcn``, ``gsage``, ``gat``, ``jknet``, ``mlp``), its
            settings, or a class or function that is called with the width of the features and the
            number of classes and gives a ``torch.nn.Module`` with
            ``forward(x, edge_index, edge_weight)``.
        training: Settings of the loop.
        seed: Seed of everything that is random.
        settings: Single settings of the method, of the model or of the loop by name, for instance
            ``hidden=64`` or ``epochs=100``; ``gaug settings`` lists them.
    """

    config_type: ClassVar[type[MethodConfig]]
    config: C

    def __init__(
        self,
        config: C | None = None,
        *,
        model: Model | ModelChoice = "gcn",
        training: TrainingConfig | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        if seed < 0:
            raise ConfigError(f"seed must be at least 0, got {seed}.")
        if config is not None and not isinstance(config, self.config_type):
            name = type(self).__name__
            raise ConfigError(
                f"{name} takes its settings by name, or as a {self.config_type.__name__}, got"
                f" {config!r:.80}. Write for instance {name}(epochs=100)."
            )
        choice = ModelChoice.of(model)
        groups: dict[str, Config] = {
            "method": config or self.config_type(),
            "model": choice.config,
            "training": training or TrainingConfig(),
        }
        changed: dict[str, Any] = dict(assign_settings(groups, settings))
        self.config = changed["method"]
        self.choice = choice.with_config(changed["model"])
        self.training: TrainingConfig = changed["training"]
        self.seed = seed

    def fit(
        self,
        data: Data,
        *,
        info: GraphInfo | None = None,
        threads: int = 1,
        on_epoch: OnEpoch | None = None,
    ) -> NodeClassifier:
        """Train once and give the fitted classifier.

        The epoch is chosen on the validation nodes. Masks of the graph are used; without a
        ``val_mask`` a fifth of the labeled nodes of each class validates, and without a
        ``train_mask`` all others train (see `with_fitting_masks`). Nodes whose ``y`` is -1 have no
        part in either: they are what to predict. It is run 0 of `gaug.evaluate` with the same
        seed and masks, and computes where the graph is.

        Args:
            data: A graph with features and labels. One that is directed or has repeated edges or
                self-loops is made a valid one first, with a warning that says so.
            info: Names of its nodes, classes and features, where they have some.
            threads: Threads to compute with; another number may give other last digits.
            on_epoch: Called with the number of epochs done so far.
        """
        return self._classifier(self._train(data, info or GraphInfo(), threads, on_epoch))

    def _classifier(self, trained: Trained) -> NodeClassifier:
        """The classifier that this method's run comes to."""
        return NodeClassifier(trained.fitted())

    def _train(
        self, data: Data, info: GraphInfo, threads: int, on_epoch: OnEpoch | None
    ) -> Trained:
        if threads < 1:
            raise ConfigError(f"threads must be at least 1, got {threads}.")
        valid, notes = valid_for(data, self.choice)
        if notes:
            warnings.warn(" ".join(notes), stacklevel=3)
        validate = self.training.selection == "validation"
        split = with_fitting_masks(valid, validate=validate, seed=self.seed)
        task = Task.of(split).to(str(data.edge_index.device))
        info.check(task.adjacency.num_nodes, task.num_classes, task.in_features)
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            check_model(self.choice, task)
            method = copy.copy(self).prepare(task.visible(), self.seed)
            result = train_run(
                task,
                lambda: self.choice.build(task.in_features, task.num_classes),
                method,
                optimization(self.choice),
                self.training,
                run_seed(self.seed, 0),
                on_epoch=on_epoch,
            )
        finally:
            torch.set_num_threads(before)
        facts = _facts(valid, task, result, info, self.seed)
        if facts.warning:
            warnings.warn(facts.warning, stacklevel=3)
        return Trained(valid, task, method, result, self.choice, self.training, facts)

    def __repr__(self) -> str:
        settings = [*_changed(self.config), *_changed(self.choice.config), *_changed(self.training)]
        if self.choice.name != "gcn":
            own = self.choice.name if self.choice.is_users else repr(self.choice.name)
            settings.append(f"model={own}")
        return f"{type(self).__name__}({', '.join(settings)})"


def _changed(config: Config) -> list[str]:
    """The settings that are not the default."""
    plain = type(config)()
    return [
        f"{field.name}={getattr(config, field.name)!r}"
        for field in dataclasses.fields(config)
        if getattr(config, field.name) != getattr(plain, field.name)
    ]


def optimization(choice: ModelChoice) -> Optimization:
    """How a model is optimized."""
    return Optimization(choice.config.learning_rate, choice.config.weight_decay)


def check_model(choice: ModelChoice, task: Task) -> None:
    """Raise if a user's module does not give one score for each node and class."""
    if not choice.is_users:
        return
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model = choice.build(task.in_features, task.num_classes).to(task.labels.device).eval()
        try:
            logits: Any = apply_model(model, task.features, task.adjacency)
        except TypeError as error:
            raise ConfigError(
                f"The model {choice.name} must have forward(x, edge_index, edge_weight): {error}."
            ) from error
        except (NotImplementedError, RuntimeError) as error:
            if not isinstance(task.features, SparseMatrix):
                raise
            raise ConfigError(
                f"The model {choice.name} fails on this graph, whose features are sparse"
                f" ({reason_of(error)}). If it needs dense ones, data.x = data.x.to_dense() makes"
                " them."
            ) from error
    expected = [task.adjacency.num_nodes, task.num_classes]
    shape = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
    if shape != expected:
        raise ConfigError(
            f"The model {choice.name} must give one number for each node and class, of shape"
            f" {expected}, got {shape}."
        )


def _facts(valid: Data, task: Task, result: RunResult, info: GraphInfo, seed: int) -> Facts:
    statistics = valid.get("feature_statistics")
    classes = info.class_names or [str(number) for number in range(task.num_classes)]
    return Facts(
        in_features=task.in_features,
        num_classes=task.num_classes,
        multilabel=task.multilabel,
        num_nodes=task.adjacency.num_nodes,
        graph_hash=graph_hash(valid, with_labels=False),
        seed=seed,
        best_epoch=result.best_epoch,
        epochs=result.epochs,
        val_score=result.val_score,
        test_score=result.test_score if task.test.numel() else None,
        warning=result.warning,
        class_names=list(classes),
        node_ids=None if info.node_ids is None else list(info.node_ids),
        feature_names=None if info.feature_names is None else list(info.feature_names),
        feature_scaling="columns" if statistics is not None else info.feature_scaling,
        feature_statistics=None if statistics is None else statistics.tolist(),
        column_means=None if info.column_means is None else dict(info.column_means),
    )
