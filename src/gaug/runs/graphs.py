"""The graphs of plans: each is loaded, fingerprinted, split and laid out once."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch_geometric.data import Data

from gaug.data.loaded import LoadedGraph
from gaug.data.opening import as_loaded, open_graph, split_graph
from gaug.data.splits import Split
from gaug.errors import ConfigError, reason_of
from gaug.graph.fingerprint import graph_hash
from gaug.pairs.ranking import OnShare
from gaug.provenance import software_versions
from gaug.runs.plan import Plan
from gaug.runs.record import run_identity
from gaug.runs.resolving import Batching, automatic_batching, with_engine
from gaug.training.graph_size import GraphSize
from gaug.training.run import PreparedRuns
from gaug.training.task import Task
from gaug.training.user_code import user_code_fingerprint

# Sizes of the caches; a method may hold its own graph.
_KEPT_GRAPHS = 8
_KEPT_METHODS = 8

T = TypeVar("T")


@dataclass(frozen=True)
class PlacedPlan:
    """A plan with its graph, ready to be identified and run.

    Attributes:
        plan: The plan.
        loaded: Its graph.
        graph_hash: Fingerprint of the graph.
        split: The training, validation and test nodes.
        task: The graph with its split, laid out on a device.
        user_code: Fingerprint of user-defined code, if there is any.
        note: What was decided by the memory at hand, and why, if anything was.
    """

    plan: Plan
    loaded: LoadedGraph
    graph_hash: str
    split: Split
    task: Task
    user_code: str | None = None
    note: str | None = None

    @functools.cached_property
    def size(self) -> GraphSize:
        """The size of the graph, and of what one step of training holds of it."""
        return GraphSize.in_training(self.task, self.plan.model, self.plan.training)

    @property
    def config(self) -> dict[str, Any]:
        """All settings as plain values, with the fingerprint of user-defined code."""
        return self._with_user_code(self.plan.config)

    def identity(self, run: int) -> str:
        """The fingerprint in the record of a run."""
        return run_identity(
            graph_hash=self.graph_hash,
            split_hash=self.split.hash,
            model=self.plan.model.name,
            method=self.plan.method.name,
            config=self._with_user_code(self.plan.identifying),
            seed=self.plan.seed,
            run=run,
            gaug_version=software_versions()["gaug"],
        )

    def _with_user_code(self, config: dict[str, Any]) -> dict[str, Any]:
        return config if self.user_code is None else {**config, "user_code": self.user_code}


class Graphs:
    """The graphs of plans, kept from one plan to the next.

    Args:
        root: The data root of the catalog's graphs.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = root
        self._loaded = _Kept[LoadedGraph](_KEPT_GRAPHS)
        self._hashes = _Kept[str](_KEPT_GRAPHS)
        self._splits = _Kept[Split](_KEPT_GRAPHS * 4)
        self._tasks = _Kept[Task](_KEPT_GRAPHS)
        self._prepared = _Kept[PreparedRuns](_KEPT_METHODS)
        # All of them: the memory at hand changes, and what was decided once must not.
        self._batchings: dict[Any, Batching] = {}

    def load(self, plan: Plan) -> LoadedGraph:
        """The graph of a plan."""
        graph = plan.graph
        if isinstance(graph, LoadedGraph):
            return graph
        keep_dense = plan.model.is_custom
        if isinstance(graph, Data):
            # The graph itself is kept with it: another one may get the same id.
            return self._loaded.get(
                (id(graph), keep_dense), lambda: as_loaded(graph, keep_dense=keep_dense), graph
            )
        scaling = plan.data.feature_scaling
        return self._loaded.get(
            (repr(graph), scaling), lambda: open_graph(graph, self.root, scaling)
        )

    def split(self, plan: Plan) -> Split:
        """The split of a plan."""
        if isinstance(plan.split, Split):
            return plan.split
        loaded, kind = self.load(plan), plan.split
        key = (id(loaded.data), kind, plan.split_config)
        return self._splits.get(key, lambda: split_graph(loaded, kind, plan.split_config), loaded)

    def place(self, plan: Plan, device: str | None = None) -> PlacedPlan:
        """A plan with its graph, split and laid out.

        Args:
            plan: The plan.
            device: Where to lay the graph out; by default where the plan computes.
        """
        device = device or plan.device
        check_device(device)
        loaded, split = self.load(plan), self.split(plan)
        data = loaded.data
        digest = self._hashes.get(id(data), lambda: graph_hash(data), data)
        task = self._tasks.get(
            (id(data), split.hash, device),
            lambda: Task.of(split.apply(data)).to(device),
            data,
        )
        custom = [part for part in (plan.method.instance, plan.model.factory) if part is not None]
        code = user_code_fingerprint(*custom) if custom else None
        plan, note = self._resolve(plan, task, (digest, split.hash, device, code))
        return PlacedPlan(plan, loaded, digest, split, task, code, note)

    def _resolve(self, plan: Plan, task: Task, on: tuple[Any, ...]) -> tuple[Plan, str | None]:
        """The plan with everything decided that it leaves open, and what there is to say.

        Args:
            plan: The plan.
            task: Its graph, laid out.
            on: What, beside its settings, decides how much memory a run takes.
        """
        plan = with_engine(plan, task)
        if plan.training.batch_size != "auto":
            return plan, None
        predictors = tuple(plan.method.predictors.items())
        key = (*on, plan.model.config, plan.method.config, predictors, plan.training)
        if key not in self._batchings:
            self._batchings[key] = automatic_batching(plan, task)
        found = self._batchings[key]
        return dataclasses.replace(plan, training=found.training), found.note

    def prepare(
        self, placed: PlacedPlan, *, hide_test: bool, on_share: OnShare | None = None
    ) -> PreparedRuns:
        """State shared by all runs of a plan, prepared once.

        Args:
            placed: The plan.
            hide_test: Whether to remove the labels of the test nodes first.
            on_share: Called with the share of the work done so far, if it takes long.
        """
        plan = placed.plan

        def prepare() -> PreparedRuns:
            task = placed.task.without_test_labels() if hide_test else placed.task
            method = plan.method.build(model=plan.model, training=plan.training, seed=plan.seed)
            if hide_test and method.looks_at_labels:
                raise ConfigError(f"Method {plan.method.name} is a control and cannot be chosen.")
            return PreparedRuns.prepare(
                task,
                plan.model,
                method,
                plan.training,
                seed=plan.seed,
                threads=plan.threads,
                on_share=on_share,
            )

        kept_with = (placed.task, plan.method.instance, plan.model.factory)
        key = (placed.identity(0), id(plan.method.instance), id(plan.model.factory), hide_test)
        return self._prepared.get(key, prepare, kept_with)


class _Kept(OrderedDict[Any, tuple[Any, T]]):
    """A cache of the most recently used values."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def get(self, key: Any, make: Callable[[], T], holding: Any = None) -> T:  # type: ignore[override]
        """The value of a key, made if missing; ``holding`` keeps objects alive by their ids."""
        if key not in self:
            self[key] = (holding, make())
        self.move_to_end(key)
        while len(self) > self.most:
            self.popitem(last=False)
        return self[key][1]


def check_device(device: str) -> None:
    """Raise if there is no such device here."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(f"There is no device {device!r} here: {reason_of(error)}") from error
