"""Settings as dataclasses that define each default, range and help text once.

The command line, the records in the store, the search spaces and the documentation are all derived
from these fields.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from gaug.errors import ConfigError, unknown_name

_LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Range:
    """An interval of allowed values; None means no bound."""

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False

    def __contains__(self, value: float) -> bool:
        above = self.low is None or (value > self.low if self.low_open else value >= self.low)
        below = self.high is None or (value < self.high if self.high_open else value <= self.high)
        return above and below

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return "any number"
        if self.low is None:
            return f"{'below' if self.high_open else 'at most'} {self.high:g}"
        if self.high is None:
            return f"{'above' if self.low_open else 'at least'} {self.low:g}"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"in {left}{self.low:g}, {self.high:g}{right}"


@dataclass(frozen=True)
class Span:
    """The numbers that a search tries: from low to high in steps, both included."""

    low: float
    high: float
    step: float

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g} by {self.step:g}"


#: The values of a setting that a search tries: a span of numbers, or some strings.
Searched = Span | tuple[str, ...]


def setting(
    default: Any,
    text: str,
    *,
    within: Range | None = None,
    choices: Sequence[str] | None = None,
    search: Searched | None = None,
    later: bool = False,
) -> Any:
    """A dataclass field with its help text and allowed values.

    Args:
        default: The default.
        text: The help text, in one line.
        within: The allowed numbers.
        choices: The allowed strings.
        search: The values that a search tries; None: the setting is not searched.
        later: Whether it was added after runs had been recorded without it. At its default such a
            setting is no part of a run's identity, so that those runs are recognized.
    """
    metadata = {
        "help": text,
        "within": within,
        "choices": choices,
        "search": search,
        "later": later,
    }
    return dataclasses.field(default=default, metadata=metadata)


def searched_settings(config: type[Config]) -> dict[str, Searched]:
    """The settings that a search varies, with the values that it tries."""
    found = {field.name: field.metadata["search"] for field in dataclasses.fields(config)}
    return {name: values for name, values in found.items() if values is not None}


@dataclass(frozen=True)
class Config:
    """Base class of every group of settings; checks types and ranges on creation.

    Attributes:
        ambiguous: Names that could mean several of its settings, and what to write instead.
    """

    ambiguous: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        hints = _hints(type(self))  # type: ignore[arg-type]  # classes have a hash
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            _check(field, hints[field.name], value)
            if type(value) is int and int not in _alternatives(hints[field.name]):
                object.__setattr__(self, field.name, float(value))  # 0 and 0.0 are the same

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, ready for JSON."""
        return dataclasses.asdict(self)

    def identifying(self) -> dict[str, Any]:
        """The settings that are part of a run's identity, as plain values."""
        fields = dataclasses.fields(self)
        unused = {
            field.name
            for field in fields
            if field.metadata.get("later") and getattr(self, field.name) == field.default
        }
        return {name: value for name, value in self.to_dict().items() if name not in unused}


@dataclass(frozen=True)
class NamedConfig(Config):
    """Base class of the settings of something in a registry.

    Attributes:
        name: Its name on the command line, in records and in saved models.
        title: Its name in tables and figures.
    """

    name: ClassVar[str]
    title: ClassVar[str]


def parse_value(config_type: type[Config], name: str, text: str) -> Any:
    """Parse the text of one setting as the type of its field.

    >>> from gaug.training.config import TrainingConfig
    >>> parse_value(TrainingConfig, "epochs", "50")
    50
    """
    hint = _hints(config_type)[name]  # type: ignore[arg-type]
    options = _alternatives(hint)
    if type(None) in options and text.lower() == "none":
        return None
    for kind in (bool, int, float, str):
        if kind in options:
            try:
                return _TRUTH[text.lower()] if kind is bool else kind(text)
            except (ValueError, KeyError):
                continue
    raise ConfigError(f"{name} must be {_describe(hint)}, got {text!r}.")


def apply_settings(
    groups: Mapping[str, Config],
    assignments: Sequence[str],
    elsewhere: Mapping[str, type[Config]] | None = None,
) -> dict[str, Config]:
    """Change the settings of several groups by ``name=value`` or ``group.name=value``.

    Args:
        groups: The groups by name, for instance ``{"model": GCNConfig(), "training": ...}``.
        assignments: Strings ``name=value``.
        elsewhere: Unused groups, by what they belong to; for the error message.

    Returns:
        New groups with the same names; the given ones are unchanged.
    """
    changes: dict[str, dict[str, Any]] = {group: {} for group in groups}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"A setting must read name=value, got {assignment!r}.")
        group = _find_group(groups, key, elsewhere or {})
        name = key.rpartition(".")[2]
        changes[group][name] = parse_value(type(groups[group]), name, text.strip())
    return _replaced(groups, changes)


def assign_settings(groups: Mapping[str, Config], values: Mapping[str, Any]) -> dict[str, Config]:
    """Change the settings of several groups by name, with Python values.

    >>> from gaug.training.config import TrainingConfig
    >>> assign_settings({"training": TrainingConfig()}, {"epochs": 50})["training"].epochs
    50
    """
    changes: dict[str, dict[str, Any]] = {group: {} for group in groups}
    for name, value in values.items():
        changes[_find_group(groups, name, {})][name.rpartition(".")[2]] = value
    return _replaced(groups, changes)


def _replaced(
    groups: Mapping[str, Config], changes: Mapping[str, dict[str, Any]]
) -> dict[str, Config]:
    return {
        group: dataclasses.replace(config, **changes[group]) for group, config in groups.items()
    }


def check_count(name: str, count: int) -> None:
    """Raise unless there is at least one.

    >>> check_count("threads", 1)
    """
    if count < 1:
        raise ConfigError(f"{name} must be at least 1, got {count}.")


def check_seed(seed: int) -> None:
    """Raise if a seed of runs cannot be recorded: databases hold whole numbers of 32 bits."""
    if seed < 0:
        raise ConfigError(f"seed must be at least 0, got {seed}.")
    if seed > _LARGEST_SEED:
        raise ConfigError(f"seed must be at most {_LARGEST_SEED}, got {seed}.")


_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _find_group(
    groups: Mapping[str, Config], key: str, elsewhere: Mapping[str, type[Config]]
) -> str:
    prefix, _, name = key.rpartition(".")
    owners = [
        group
        for group, config in groups.items()
        if prefix in ("", group) and name in {f.name for f in dataclasses.fields(config)}
    ]
    if len(owners) == 1:
        return owners[0]
    if owners:
        which = " or ".join(f"{owner}.{name}" for owner in owners)
        raise ConfigError(f"Setting {name!r} is not unique. Write {which}.")
    instead = [other for config in groups.values() for other in config.ambiguous.get(name, ())]
    if instead:
        raise ConfigError(f"Setting {name!r} is not unique. Write {' or '.join(instead)}.")
    owners = [
        what
        for what, config in elsewhere.items()
        if name in {f.name for f in dataclasses.fields(config)}
    ]
    if owners:
        raise ConfigError(f"Setting {key!r} goes with {' or '.join(owners)}.")
    known = sorted(
        f.name if not prefix else f"{group}.{f.name}"
        for group, config in groups.items()
        for f in dataclasses.fields(config)
    )
    raise unknown_name("setting", key, known)


@functools.cache
def _hints(config_type: type[Config]) -> dict[str, Any]:
    """The types of settings; to evaluate them takes longer than everything else here."""
    return typing.get_type_hints(config_type)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


def _describe(hint: Any) -> str:
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    return " or ".join(words.get(kind, "none") for kind in _alternatives(hint))


def _check(field: dataclasses.Field[Any], hint: Any, value: Any) -> None:
    options = _alternatives(hint)
    if value is None and type(None) in options:
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = type(value) in options or (float in options and number)
    if not fits:
        raise ConfigError(f"{field.name} must be {_describe(hint)}, got {value!r}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{field.name} must be finite, got {value}.")
    within, choices = field.metadata.get("within"), field.metadata.get("choices")
    if within is not None and number and value not in within:
        raise ConfigError(f"{field.name} must be {within}, got {value:g}.")
    if choices is not None and isinstance(value, str) and value not in choices:
        raise ConfigError(
            f"Unknown {field.name} {value!r}. Choose from: {', '.join(sorted(choices))}."
        )
