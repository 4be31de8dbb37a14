"""Presets: settings that a search found on validation nodes, by graph, model and method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from gaug.data.folders import written_atomically
from gaug.errors import ConfigError, DataError, reason_of

if TYPE_CHECKING:
    from gaug.choosing.search import SearchResult

#: Where the presets of the package are, one file per method.
FOLDER = Path(__file__).parent

_HEADING = """\
Settings that 'gaug search' found on validation nodes and wrote as presets, and nothing else. The
validation score is that of new runs of the best settings.
"""

# What the fields of a preset are in a file.
_KINDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(("graph", "model", "method", "split", "command"), (str, "a text")),
    "settings": (Mapping, "a table"),
    "validation": ((int, float), "a number"),
    "trials": (int, "a whole number"),
}


@dataclass(frozen=True)
class Preset:
    """Settings of a method that a search found for a model on a graph.

    Attributes:
        graph: Name of the graph.
        model: Name of the model.
        method: Name of the method.
        split: Name of the split, as in records; that of a file is the file's.
        settings: The settings.
        validation: Mean validation micro-F1 in percent.
        trials: Number of settings among which they were chosen.
        command: The command that found them.
    """

    graph: str
    model: str
    method: str
    split: str
    settings: Mapping[str, Any]
    validation: float
    trials: int
    command: str

    @classmethod
    def of(
        cls,
        result: SearchResult,
        *,
        graph: str,
        split: str,
        command: str,
        given: Mapping[str, Any] | None = None,
    ) -> Preset:
        """The preset that a search found.

        Args:
            result: The result of the search.
            graph: Name of the graph.
            split: Name of the split.
            command: The command that searched.
            given: Settings that were fixed in the search.
        """
        plan, best = result.plan, result.best
        settings = {**(given or {}), **best.settings}
        return cls(
            graph,
            plan.model.name,
            plan.method.name,
            split,
            settings,
            round(best.mean, 2),
            len(result.trials),
            command,
        )

    @property
    def texts(self) -> list[str]:
        """The settings as ``name=value``."""
        return [f"{name}={value}" for name, value in self.settings.items()]


def read_presets(path: Path) -> list[Preset]:
    """The presets in a file.

    Raises:
        DataError: If it is not a file of presets.
    """
    try:
        found = tomlkit.parse(path.read_text(encoding="utf-8")).unwrap()
        presets = [Preset(method=found["method"], **one) for one in found["preset"]]
        for preset in presets:
            _check_types(preset)
        return presets
    except (OSError, TOMLKitError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{path} must be a file of presets, as 'gaug search' writes them: {reason_of(error)}."
        ) from error


def _check_types(preset: Preset) -> None:
    """Raise a TypeError if a value is of another type than that of its field."""
    for name, (kind, words) in _KINDS.items():
        value = getattr(preset, name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(f"{name} must be {words}, got {value!r}")


def presets_of(method: str) -> list[Preset]:
    """The presets of a method in the package; none if it has no file."""
    path = FOLDER / f"{method}.toml"
    return read_presets(path) if path.is_file() else []


def get_preset(graph: str, model: str, method: str) -> Preset | None:
    """The preset of the package for a graph, model and method, if there is one."""
    for preset in presets_of(method):
        if (preset.graph, preset.model) == (graph, model):
            return preset
    return None


def find_preset(graph: str, model: str, method: str) -> Preset:
    """The preset of the package for a graph, model and method.

    Raises:
        ConfigError: If there is none; it names those that there are.
    """
    preset = get_preset(graph, model, method)
    if preset is None:
        there = [f"{preset.model} on {preset.graph}" for preset in presets_of(method)]
        known = f"There are: {', '.join(there)}." if there else f"There is none for {method} yet."
        raise ConfigError(
            f"There is no preset for {method} with {model} on {graph}. {known} Search for settings"
            " with 'gaug search'.",
            topic="preset",
        )
    return preset


def presets_beside(path: Path, method: str) -> list[Preset]:
    """The presets in a file to which one of a method is written; none if there is no file yet.

    Raises:
        DataError: If it is not a file of presets.
        ConfigError: If they are of another method.
    """
    before = read_presets(path) if path.is_file() else []
    if before and before[0].method != method:
        raise ConfigError(
            f"{path} has presets of {before[0].method}, not of {method}. Give another file."
        )
    return before


def write_preset(preset: Preset, path: Path) -> None:
    """Write a preset to a file of its method, in the place of one for the same graph and model."""
    before = presets_beside(path, preset.method)
    kept = {(one.graph, one.model): one for one in [*before, preset]}
    document = tomlkit.document()
    for line in _HEADING.splitlines():
        document.add(tomlkit.comment(line))
    document.add("method", tomlkit.item(preset.method))
    listed = tomlkit.aot()
    for _, one in sorted(kept.items()):
        table = tomlkit.table()
        for name in ("graph", "model", "split", "validation", "trials", "command"):
            table.add(name, getattr(one, name))
        table.add("settings", dict(one.settings))
        listed.append(table)
    document.add("preset", listed)
    with written_atomically(path) as temporary:
        temporary.write_text(tomlkit.dumps(document), encoding="utf-8")
