"""The user interface of every method: settings by keyword, and `fit`."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, cast

from torch_geometric.data import Data
from typing_extensions import TypeVar

from gaug.classifier.base import NodeClassifier, valid_for
from gaug.classifier.graph_info import GraphInfo
from gaug.config import Config, assign_settings, check_count
from gaug.data.fitting_split import with_fitting_masks
from gaug.edge_predictors.config import PredictorConfig
from gaug.errors import ConfigError
from gaug.graph.fingerprint import graph_hash
from gaug.graph.mapped_graph import MappedGraph
from gaug.memory import check_fits, reusing
from gaug.methods.settings import changed, changed_of_model, configs_of_predictors
from gaug.methods.trained import Trained, summary_of
from gaug.models.spec import Model, ModelSpec
from gaug.provenance import software_versions
from gaug.telling import warn
from gaug.training.checkpoint import SECONDS_BETWEEN, Checkpoint, remove_checkpoint
from gaug.training.config import MethodConfig, TrainingConfig
from gaug.training.graph_size import GraphSize
from gaug.training.hooks import Augmentation
from gaug.training.progress import OnEpoch, Progress
from gaug.training.ranks import Ranks, group_size, ranks_here
from gaug.training.run import PreparedRuns, computing_threads
from gaug.training.shared_graph import shared_graph
from gaug.training.task import Task
from gaug.training.time_left import preparing
from gaug.training.user_code import user_code_fingerprint

C = TypeVar("C", bound=MethodConfig)
K = TypeVar("K", bound=NodeClassifier, default=NodeClassifier)


class Method(Augmentation, Generic[C, K]):
    """Base class of the methods: an estimator in the style of scikit-learn.

    ``fit(data)`` trains once, in the loop that all methods share, and returns a fitted classifier.
    The method itself is unchanged and can be fitted to another graph.

    Args:
        config: Settings of the method.
        model: The classifier: a name (``gaug settings`` lists them), its settings, or a class or
            function that is called with the number of features and the number of classes and
            returns a ``torch.nn.Module`` with ``forward(x, edge_index, edge_weight)``.
        training: Settings of the loop.
        seed: Seed of everything that is random.
        predictors: Settings of the method's edge predictors by name, if it has any, for instance
            ``{"gae": {"predictor_epochs": 50}}``.
        settings: Single settings of the method, its predictors, the model or the loop by name, for
            instance ``hidden=64`` or ``epochs=100``; ``gaug settings`` lists them.

    Attributes:
        config_type: The class of its settings.
        classifier_type: The class that `fit` returns, used to load a saved classifier.
    """

    config_type: ClassVar[type[MethodConfig]]
    classifier_type: type[NodeClassifier] = NodeClassifier
    config: C

    def __init__(
        self,
        config: C | None = None,
        *,
        model: Model = "gcn",
        training: TrainingConfig | None = None,
        seed: int = 0,
        predictors: Mapping[str, PredictorConfig | Mapping[str, Any]] | None = None,
        **settings: Any,
    ) -> None:
        name = type(self).__name__
        if seed < 0:
            raise ConfigError(f"seed must be at least 0, got {seed}.")
        if config is not None and not isinstance(config, self.config_type):
            raise ConfigError(
                f"{name} takes its settings by name, or as a {self.config_type.__name__}, got"
                f" {config!r:.80}. Write for instance {name}(epochs=100)."
            )
        spec = ModelSpec.of(model)
        own: MethodConfig = config or self.config_type()
        # The settings of the method determine its predictors, so they come first.
        given = {field.name for field in dataclasses.fields(own)} & settings.keys()
        draft = dataclasses.replace(own, **{key: settings[key] for key in given})
        parts = configs_of_predictors(name, draft.predictor_configs(), predictors or {})
        groups: dict[str, Config] = {
            "method": own,
            "model": spec.config,
            "training": training or TrainingConfig(),
            **parts,
        }
        assigned: dict[str, Any] = dict(assign_settings(groups, settings))
        self.config = assigned["method"]
        self.model = spec.with_config(assigned["model"])
        self.training: TrainingConfig = assigned["training"]
        self.predictors: dict[str, PredictorConfig] = {part: assigned[part] for part in parts}
        self.seed = seed

    @classmethod
    def built(
        cls,
        config: C,
        *,
        model: Model = "gcn",
        training: TrainingConfig | None = None,
        seed: int = 0,
        predictors: Mapping[str, PredictorConfig],
    ) -> Method[C, K]:
        """The method from its settings alone, as the registry builds it."""
        return cls(config, model=model, training=training, seed=seed, predictors=predictors)

    @property
    def looks_at_labels(self) -> bool:
        """Whether one of its predictors does, which makes it a control, not a method."""
        return any(config.looks_at_labels for config in self.predictors.values())

    @property
    def is_custom(self) -> bool:
        """Whether it has a user-defined part, so that its settings do not fully describe it."""
        return False

    def fit(
        self,
        data: Data,
        *,
        info: GraphInfo | None = None,
        threads: int = 1,
        on_progress: OnEpoch | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_seconds: float = SECONDS_BETWEEN,
        keep_checkpoint: bool = False,
    ) -> K:
        """Train once and return the fitted classifier.

        The epoch is chosen on the validation nodes. The masks of the graph are used. Without a
        ``val_mask``, a fifth of the labeled nodes of each class is used for validation; without a
        ``train_mask``, all others are used for training (see `with_fitting_masks`). Nodes whose
        ``y`` is -1 are in neither; they are the ones to predict. The result is that of run 0 of
        `gaug.evaluate` with the same seed and masks. It computes on the device of the graph.

        If this process has initialized a process group of `torch.distributed`, all processes of the
        group must call this with the same graph and settings. They train one classifier together,
        and all get it.

        Args:
            data: A graph with features and labels. A graph that is directed or has repeated edges
                or self-loops is converted to a valid one first, with a warning.
            info: Names of its nodes, classes and features, if any.
            threads: Number of threads; a different number may change the last digits.
            on_progress: Called regularly with the epochs done so far and a note.
            checkpoint: File in which a training that takes long is saved regularly. A later call
                with the same graph and settings goes on from it, and it is removed at the end.
            checkpoint_seconds: How long to train from one checkpoint to the next.
            keep_checkpoint: Whether to leave it there at the end, for a caller who removes it when
                the classifier is saved.
        """
        self.config.check_ranks(group_size())
        self.training.check_ranks(group_size())
        saving = None if checkpoint is None else (Path(checkpoint), checkpoint_seconds)
        with ranks_here() as ranks:
            trained = self._train(data, info or GraphInfo(), threads, on_progress, saving, ranks)

            def classifier() -> K:
                assert trained is not None, "the first rank has the result"
                return cast("K", trained.method._classifier(trained))

            fitted = ranks.of_first(classifier)
            if saving is not None and ranks.is_first and not keep_checkpoint:
                remove_checkpoint(saving[0])
            return fitted

    def _classifier(self, trained: Trained) -> K:
        """The classifier that results from a run; called on the prepared method."""
        return cast("K", self.classifier_type(trained.fitted()))

    def _train(
        self,
        data: Data,
        info: GraphInfo,
        threads: int,
        on_progress: OnEpoch | None,
        saving: tuple[Path, float] | None,
        ranks: Ranks,
    ) -> Trained | None:
        """Train on this rank; the first has the result."""
        check_count("threads", threads)
        version = software_versions()["gaug"]
        ranks.check_same("settings", f"{self!r} with seed {self.seed} in gaug {version}")
        graph = shared_graph(self.valid_graph(data, tell=ranks.is_first), ranks)
        if self.training.batch_size == "auto":
            raise ConfigError(
                "batch_size=auto is decided by 'gaug train', 'gaug fit' and gaug.evaluate. Give fit"
                " a number."
            )
        task = dataclasses.replace(Task.of(graph), ranks=ranks).to(str(data.edge_index.device))
        info.check(task.adjacency.num_nodes, task.num_classes, task.in_features)
        method = copy.copy(self)
        method.config = cast("C", self.config.resolved(task.adjacency.num_nodes))
        checkpoint = None
        if saving is not None and ranks.is_first:
            checkpoint = self._checkpoint(task, graph, threads, saving)
        needed = ranks.of_first(lambda: self._check_memory(task, method.config))
        words = preparing(getattr(method.config, "title", method.config.name))

        def on_share(share: float) -> None:
            if on_progress is not None:
                on_progress(Progress(0, words(share)))

        with computing_threads(threads), reusing(needed):
            runs = PreparedRuns.prepare(
                task,
                self.model,
                method,
                self.training,
                seed=self.seed,
                threads=threads,
                on_share=on_share,
            )
            if not ranks.is_first:
                runs.train_along(0)
                return None
            result = runs.train(0, on_progress=on_progress, checkpoint=checkpoint)
        if result.warning:
            warn(result.warning)
        return Trained(task, method, result, summary_of(graph, task, result, info, self.seed))

    def valid_graph(self, data: Data, *, tell: bool = True) -> Data:
        """The graph in valid form, with all masks.

        Args:
            data: The graph as it was given.
            tell: Whether to warn of what was converted.
        """
        if isinstance(data, MappedGraph):
            return data
        valid, notes = valid_for(data, self.model)
        if notes and tell:
            warn(" ".join(notes))
        validate = self.training.selection == "validation"
        return with_fitting_masks(valid, validate=validate, seed=self.seed)

    def _check_memory(self, task: Task, config: MethodConfig) -> int:
        """Raise if a fit does not fit into memory; returns the bytes that it takes, about."""
        if task.labels.device.type != "cpu":
            return 0
        from gaug.methods.run_memory import run_memory

        size = GraphSize.in_training(task, self.model, self.training)
        memory = run_memory(size, self.model, config, self.predictors)
        check_fits(
            memory.least,
            f"A fit of {self.model.name}, {config.name}",
            "Set a smaller batch_size, fanout or hidden, or use a machine with more memory.",
            num_nodes=size.nodes,
        )
        return memory.peak

    def _checkpoint(
        self, task: Task, graph: Data, threads: int, saving: tuple[Path, float]
    ) -> Checkpoint:
        """The checkpoint of a fit, which belongs to its graph, split, settings and code."""
        digest = hashlib.sha256(graph_hash(graph).encode())
        for nodes in (task.train, task.val):
            digest.update(nodes.cpu().numpy().tobytes())
        own = self.is_custom or type(self).__module__.partition(".")[0] != "gaug"
        parts = [part for part in (self if own else None, self.model.factory) if part is not None]
        code = user_code_fingerprint(*parts) if parts else None
        # A setting of one predictor is not that of another, which its own words leave open.
        facts = (self, self.predictors, self.seed, threads, software_versions()["gaug"], code)
        digest.update(repr(facts).encode())
        return Checkpoint(saving[0], digest.hexdigest(), saving[1])

    def __repr__(self) -> str:
        groups: list[Config] = [self.config, *self.predictors.values()]
        own = [text for group in groups for text in changed(group)]
        own += changed_of_model(self.model, self.training)
        return f"{type(self).__name__}({', '.join(own)})"
