"""A plan: everything that determines a run, except its number.

The command line, a `Data` in Python and a study of the paper all build plans, and the same run
requested in different ways has the same identity. Creating a plan checks every name and setting and
reads no graph, so mistakes are reported before anything heavy is imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from gaug.config import Config, apply_settings, check_count, check_seed
from gaug.data.config import DataConfig, SplitConfig
from gaug.data.source import GraphSource
from gaug.edge_predictors.registry import PREDICTORS
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.methods.spec import MethodLike, MethodSpec
from gaug.models.registry import MODELS
from gaug.models.spec import Model, ModelSpec
from gaug.training.config import MethodConfig, TrainingConfig

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from gaug.data.loaded import LoadedGraph
    from gaug.data.splits import Split

#: Accepted types of a graph.
GraphLike = Union[str, Path, GraphSource, "LoadedGraph", "Data"]


#: Where PyTorch may compute; a number may follow, as in ``cuda:1``.
DEVICES = ("cpu", "cuda", "mps", "xpu")


@dataclass(frozen=True)
class Plan:
    """Everything that determines a run, except its number.

    Attributes:
        graph: Where the graph comes from, or the graph itself.
        model: The model with its settings.
        method: The method with its settings and those of its edge predictors.
        training: Settings of training.
        data: Settings of the graph.
        split: Kind of split, a path, or the split itself; None for the graph's default.
        split_config: Settings of the split.
        seed: Seed from which the seeds of all runs are derived.
        threads: Threads per run.
        device: Where to compute.
    """

    graph: GraphSource | LoadedGraph | Data
    model: ModelSpec
    method: MethodSpec
    training: TrainingConfig = field(default_factory=TrainingConfig)
    data: DataConfig = field(default_factory=DataConfig)
    split: str | Split | None = None
    split_config: SplitConfig = field(default_factory=SplitConfig)
    seed: int = 0
    threads: int = 1
    device: str = "cpu"

    @classmethod
    def of(
        cls,
        graph: GraphLike,
        *,
        model: Model | None = None,
        method: MethodLike = "none",
        settings: Sequence[str] | Mapping[str, Any] = (),
        training: TrainingConfig | None = None,
        split: str | Split | None = None,
        split_config: SplitConfig | None = None,
        seed: int | None = None,
        threads: int = 1,
        device: str | None = None,
    ) -> Plan:
        """A plan from names and settings.

        Args:
            graph: Name in the catalog, a path to your own, a `GraphSource`, a loaded graph or a
                `Data`.
            model: Name of the model, its settings, or a class or function that makes a module; by
                default that of a method object, else ``gcn``.
            method: Name of the method, its settings, or a method object, whose model, training and
                seed are the defaults here.
            settings: Any settings, as ``["epochs=50", …]`` or ``{"epochs": 50, …}``.
            training: Settings of training.
            split: Kind of split, a path, or a split; None for the graph's default.
            split_config: Fractions, counts and seed of a drawn split.
            seed: Seed from which the seeds of all runs are derived, below 2**31; 0 by default.
            threads: Threads per run.
            device: Where to compute; by default where a `Data` is, else on the CPU.
        """
        if isinstance(settings, Mapping):
            settings = [f"{name}={value}" for name, value in settings.items()]
        spec = MethodSpec.of(method)
        if not isinstance(method, (str, MethodConfig, MethodSpec)):
            model = method.model if model is None else model
            training = method.training if training is None else training
            seed = method.seed if seed is None else seed
        seed = 0 if seed is None else seed
        check_seed(seed)
        check_count("threads", threads)
        if isinstance(graph, (str, Path)):
            graph = GraphSource.of(graph)
        if device is not None and device.partition(":")[0] not in DEVICES:
            raise ConfigError(f"device must be one of {', '.join(DEVICES)}, got {device!r}.")
        if device is None:
            device = "cpu"
            edges = getattr(graph, "edge_index", None)
            if edges is not None:
                device = str(edges.device)
        plan = cls(
            graph,
            ModelSpec.of("gcn" if model is None else model),
            spec,
            training or TrainingConfig(),
            split=split,
            split_config=split_config or SplitConfig(),
            seed=seed,
            threads=threads,
            device=device,
        )
        return plan.with_settings(settings) if settings else plan

    def with_settings(self, settings: Sequence[str]) -> Plan:
        """The plan with some settings changed, each given as ``name=value``."""
        method = self.method
        settings = [_respelled(method.config, text) for text in settings]
        # The predictors of a method depend on its own setting, so that comes first.
        names = {field.name for field in dataclasses.fields(method.config)}
        names = {name for name in names if f"_{name}".endswith("_predictor")}
        names |= {f"method.{name}" for name in names}
        first = [text for text in settings if text.partition("=")[0].strip() in names]
        if first:
            chosen = apply_settings({"method": method.config}, first)["method"]
            assert isinstance(chosen, MethodConfig)
            method = _with_config(method, chosen)
        groups: dict[str, Config] = {
            "model": self.model.config,
            "method": method.config,
            "training": self.training,
            "data": self.data,
            "split": self.split_config,
            **method.predictors,
        }
        elsewhere: dict[str, type[Config]] = {
            **{f"model {name}": config for name, config in MODELS.config_types().items()},
            **{
                f"method {name}": config
                for name, config in METHODS.config_types().items()
                if name in METHODS.singles()
            },
            **{f"predictor={name}": config for name, config in PREDICTORS.config_types().items()},
        }
        changed: dict[str, Any] = dict(apply_settings(groups, settings, elsewhere))
        return dataclasses.replace(
            self,
            model=self.model.with_config(changed["model"]),
            method=dataclasses.replace(
                method,
                config=changed["method"],
                predictors={name: changed[name] for name in method.predictors},
            ),
            training=changed["training"],
            data=changed["data"],
            split_config=changed["split"],
        )

    def with_method(self, method: MethodLike) -> Plan:
        """The same plan with another method."""
        return dataclasses.replace(self, method=MethodSpec.of(method))

    @property
    def protocol(self) -> str:
        """How the epoch is selected: on validation nodes, or the last one."""
        return self.training.selection

    @property
    def config(self) -> dict[str, Any]:
        """All settings as plain values, as in a record."""
        return self._settings(Config.to_dict)

    @property
    def identifying(self) -> dict[str, Any]:
        """The settings that are part of a run's identity, as plain values."""
        return self._settings(Config.identifying)

    def _settings(self, values_of: Callable[[Config], dict[str, Any]]) -> dict[str, Any]:
        predictors = {name: values_of(part) for name, part in self.method.predictors.items()}
        return {
            "model": values_of(self.model.config),
            "method": values_of(self.method.config),
            **({"predictors": predictors} if predictors else {}),
            "training": values_of(self.training),
            "data": values_of(self.data),
            "split": values_of(self.split_config),
            "threads": self.threads,
            "device": self.device,
        }

    def __str__(self) -> str:
        return f"{self.model.name}, {self.method.name}"


def _respelled(method: MethodConfig, text: str) -> str:
    """An assignment with the name of the setting as the method has it."""
    name, equals, value = text.partition("=")
    return f"{method.spelled(name.strip())}{equals}{value}"


def _with_config(spec: MethodSpec, config: MethodConfig) -> MethodSpec:
    """A method with other settings and predictors; unchanged predictors keep their settings."""
    predictors = config.predictor_configs()
    kept = {name: spec.predictors.get(name, part) for name, part in predictors.items()}
    return dataclasses.replace(spec, config=config, predictors=kept)
