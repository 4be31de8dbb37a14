"""Runs of the store grouped into experiments: what differs only by its number is one."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gaug.choosing.resampling import RESAMPLED
from gaug.choosing.trial_training import trial_training
from gaug.config import Config
from gaug.data.config import DataConfig, SplitConfig
from gaug.edge_predictors.registry import PREDICTORS
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.registry import Registry
from gaug.runs.record import RunRecord
from gaug.training.config import TrainingConfig

#: How the settings of an experiment came about.
DEFAULT, GIVEN, TRIED, CHOSEN = (
    "default settings",
    "settings given by the user",
    "tried in a search; its test score was never read",
    "chosen by a search on validation nodes",
)

# The setting of a study's own method that names a change drawn anew for each run.
_DRAWN = "change"


@dataclass(frozen=True)
class Experiment:
    """Runs with the same graph, split, model, method, settings and version.

    Attributes:
        name: A short fingerprint, for links.
        records: Its runs, each once, by number.
        settings: Settings that differ from the defaults, by name.
        chosen: How the settings came about.
    """

    name: str
    records: Sequence[RunRecord]
    settings: dict[str, Any] = field(default_factory=dict)
    chosen: str = DEFAULT

    @property
    def first(self) -> RunRecord:
        """One of its runs, for what all share."""
        return self.records[0]

    @property
    def tests(self) -> list[float]:
        """Test scores in percent."""
        return [record.test_score for record in self.records if record.test_score is not None]

    @property
    def vals(self) -> list[float]:
        """Validation scores in percent."""
        return [record.val_score for record in self.records if record.val_score is not None]

    @property
    def val_mean(self) -> float:
        """Mean validation score; below all others if there is none."""
        return statistics.fmean(self.vals) if self.vals else -1.0

    @property
    def settings_text(self) -> str:
        """The settings that differ from the defaults."""
        return " ".join(f"{name}={value}" for name, value in self.settings.items())


def group(records: Sequence[RunRecord], hidden: Collection[int]) -> list[Experiment]:
    """Records as experiments, newest first.

    Args:
        records: Records in the order of writing; of one identity the newest counts.
        hidden: Ids of the runs that were trained with hidden test labels.
    """
    newest = {record.identity: record for record in records}
    found = []
    for key, members in _groups(list(newest.values())).items():
        first = members[0]
        config = first.config or {}
        if len({record.split_hash for record in members}) > 1:
            config = _without_draws(config)
        settings = changed_settings(config, first.model, first.method)
        members.sort(key=lambda record: (record.seed, record.run))
        found.append(
            Experiment(
                hashlib.sha256(key.encode()).hexdigest()[:10],
                members,
                settings,
                _chosen(members, hidden, settings),
            )
        )
    found.sort(key=lambda one: -max(record.id for record in one.records))
    return _chosen_elsewhere(found)


def changed_settings(config: Mapping[str, Any], model: str, method: str) -> dict[str, Any]:
    """The settings that differ from the defaults of this version.

    Settings that this version does not know are among them, and so are all of a user's own class.

    Args:
        config: All settings, by group, as in a record.
        model: Name of the model.
        method: Name of the method.
    """
    parts: list[tuple[str, dict[str, Any]]] = [
        ("", _different(config.get("model"), _defaults(MODELS, model))),
        ("", _different(config.get("method"), _defaults(METHODS, method))),
        *(("", _different(config.get(name), part)) for name, part in _plain_defaults().items()),
    ]
    for name, values in (config.get("predictors") or {}).items():
        parts.append((f"{name}.", _different(values, _defaults(PREDICTORS, name))))
    return {f"{prefix}{name}": value for prefix, part in parts for name, value in part.items()}


def trained_as(one: Experiment) -> str:
    """What a trial shares with the training that follows it, whatever nodes it was tried on."""
    return _training_key(one, (one.first.config or {}).get("training"))


def tried_as(one: Experiment) -> set[str]:
    """What its trials share with an experiment; those of a race are trained with patience."""
    training = (one.first.config or {}).get("training")
    keys = {_training_key(one, training)}
    with contextlib.suppress(ConfigError, TypeError):  # of another version
        keys.add(_training_key(one, trial_training(TrainingConfig(**(training or {}))).to_dict()))
    return keys


def _training_key(one: Experiment, training: Mapping[str, Any] | None) -> str:
    config = {name: part for name, part in (one.first.config or {}).items() if name != "user_code"}
    split = (one.first.split or "").removesuffix(RESAMPLED)
    shared = (one.first.graph, one.first.graph_hash, split, one.first.model, one.first.method)
    return json.dumps((shared, {**config, "training": training}), sort_keys=True)


def _chosen_elsewhere(found: list[Experiment]) -> list[Experiment]:
    """Mark what was tried on other nodes or with patience, and then trained as it was asked for."""
    tried = {trained_as(one) for one in found if one.chosen == TRIED}
    return [
        dataclasses.replace(one, chosen=CHOSEN)
        if one.chosen != CHOSEN and one.tests and not tried.isdisjoint(tried_as(one))
        else one
        for one in found
    ]


def _groups(records: Sequence[RunRecord]) -> dict[str, list[RunRecord]]:
    """Records by what they share; runs for which splits were drawn anew are one group."""
    alike: dict[str, list[RunRecord]] = {}
    for record in records:
        key = _key(record, "drawn", _without_draws(record.config))
        alike.setdefault(key, []).append(record)
    groups: dict[str, list[RunRecord]] = {}
    for key, members in alike.items():
        drawn = _drawn_anew(members)
        if len({(record.seed, record.run) for record in drawn}) == len(drawn) > 0:
            groups[key] = drawn
        else:  # two of the same number: they are not runs of one experiment
            drawn = []
        apart = {record.identity for record in drawn}
        for record in members:
            if record.identity not in apart:
                exact = _key(record, record.split_hash, record.config)
                groups.setdefault(exact, []).append(record)
    return groups


def _drawn_anew(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Runs whose split was drawn for them: alone on it, or of a seed that has several splits.

    Two runs may draw the same split, if the graph is small.
    """
    on_split = Counter((record.split_hash, str(record.config)) for record in records)
    splits: dict[int, set[str]] = {}
    runs: dict[int, Counter[int]] = {}
    for record in records:
        splits.setdefault(record.seed, set()).add(record.split_hash)
        runs.setdefault(record.seed, Counter())[record.run] += 1
    several = {seed for seed in splits if len(splits[seed]) > 1 and max(runs[seed].values()) == 1}
    return [
        record
        for record in records
        if record.seed in several or on_split[record.split_hash, str(record.config)] == 1
    ]


def _key(record: RunRecord, split: str, config: Mapping[str, Any] | None) -> str:
    shared = (
        record.graph,
        record.graph_hash,
        record.split,
        split,
        record.model,
        record.method,
        record.protocol,
        config,
        (record.versions or {}).get("gaug"),
    )
    return json.dumps(shared, sort_keys=True)


def _without_draws(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Settings without those that a study draws anew for each run."""
    kept = {name: part for name, part in (config or {}).items() if name != "user_code"}
    method = kept.get("method")
    if isinstance(method, dict):
        kept["method"] = {name: value for name, value in method.items() if name != _DRAWN}
    return kept


def _chosen(records: Sequence[RunRecord], hidden: Collection[int], settings: dict[str, Any]) -> str:
    searched = [record for record in records if record.id in hidden]
    if searched:
        return CHOSEN if any(record.test_score is not None for record in records) else TRIED
    own = set(settings) - {field.name for field in dataclasses.fields(SplitConfig)}
    return GIVEN if own else DEFAULT


@functools.lru_cache
def _plain_defaults() -> dict[str, dict[str, Any]]:
    """The defaults of what does not depend on a name."""
    parts = {"training": TrainingConfig(), "data": DataConfig(), "split": SplitConfig()}
    return {name: part.to_dict() for name, part in parts.items()}


@functools.lru_cache
def _defaults(registry: Registry[Any, Any], name: str) -> dict[str, Any]:
    try:
        config: Config = registry.config_type(name)()
    except (ConfigError, TypeError):  # a user's own, or of a package that is not there
        return {}
    return config.to_dict()


def _different(given: Any, defaults: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(given, dict):
        return {}
    missing = object()
    return {name: value for name, value in given.items() if defaults.get(name, missing) != value}
