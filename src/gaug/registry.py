"""Classes of one kind by name: built in, or added by another installed package.

A built-in is one row of a table: where to find its settings and its class. Another package adds its
own through an entry point, whose value is the class:

    [project.entry-points."gaug.methods"]
    mine = "my_package.mine:Mine"

Both are imported on first use, so that names and settings are known without PyTorch.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from gaug.config import NamedConfig
from gaug.errors import ConfigError, reason_of, unknown_name

C = TypeVar("C", bound=NamedConfig)
K = TypeVar("K")


class Registry(Generic[C, K]):
    """The classes of one kind with their settings, by name; built-ins come first.

    Args:
        kind: What they are, for error messages.
        group: The entry-point group in which other packages add theirs.
        builtins: References ``"module:name"`` to the settings and the class of each.
    """

    def __init__(self, kind: str, group: str, builtins: Sequence[tuple[str, str]]) -> None:
        self.kind = kind
        self.group = group
        self._references = builtins

    def names(self) -> list[str]:
        """All names, without importing what other packages add."""
        return list(dict.fromkeys([*self._builtins, *(entry.name for entry in self._added)]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def config_type(self, name: str) -> type[C]:
        """The settings of a name.

        Raises:
            ConfigError: If there is no such name or its package cannot be used.
        """
        entry = self._entry(name)
        if entry is None:
            return self._builtins[name][0]
        config_type: type[C] = self._load(entry).config_type
        return config_type

    def config_types(self) -> dict[str, type[C]]:
        """The settings of all names, except those whose package cannot be used."""
        found = {}
        for name in self:
            try:
                found[name] = self.config_type(name)
            except ConfigError:
                continue  # raised when that name is requested
        return found

    def title(self, name: str) -> str:
        """Its name in tables and figures."""
        return self.config_type(name).title

    def class_of(self, of: C | str) -> type[K]:
        """The class that a name or settings belong to."""
        name = of if isinstance(of, str) else of.name
        entry = self._entry(name)
        cls = self._load(entry) if entry else _imported(self._builtins[name][1])
        if not isinstance(of, str) and not isinstance(of, cls.config_type):
            raise ConfigError(
                f"The {self.kind} {name!r} takes {cls.config_type.__name__}, got"
                f" {type(of).__name__}. Give settings of another kind another name."
            )
        found: type[K] = cls
        return found

    @functools.cached_property
    def _builtins(self) -> dict[str, tuple[type[C], str]]:
        configs = [(_imported(config), cls) for config, cls in self._references]
        return {config.name: (config, cls) for config, cls in configs}

    @functools.cached_property
    def _added(self) -> list[EntryPoint]:
        return sorted(entry_points(group=self.group), key=lambda entry: entry.name)

    def _entry(self, name: str) -> EntryPoint | None:
        """The entry point of a name, or None for a built-in."""
        if name not in self:
            raise unknown_name(self.kind, name, self)
        entries = [entry for entry in self._added if entry.name == name]
        owners = ["gaug"] * (name in self._builtins) + [_package(entry) for entry in entries]
        if len(owners) > 1:
            raise ConfigError(
                f"The {self.kind} {name!r} is in more than one package: {', '.join(owners)}."
                f" Rename the entry point in {owners[-1]}, or uninstall that package."
            )
        return entries[0] if entries else None

    def _load(self, entry: EntryPoint) -> Any:
        subject = f"The {self.kind} {entry.name!r} of the package {_package(entry)}"
        try:
            cls = entry.load()
        except Exception as error:  # foreign code may fail in any way
            raise ConfigError(
                f"{subject} cannot be imported: {reason_of(error)}. Repair or uninstall it."
            ) from error
        config_type = getattr(cls, "config_type", None)
        if not isinstance(config_type, type) or not issubclass(config_type, NamedConfig):
            raise ConfigError(f"{subject} must be a class with a config_type, got {cls!r:.80}.")
        for attribute in ("name", "title"):
            if not isinstance(getattr(config_type, attribute, None), str):
                raise ConfigError(f"{subject} must have a {attribute} in {config_type.__name__}.")
        if config_type.name != entry.name:
            raise ConfigError(
                f"{subject} must have the name of its entry point in {config_type.__name__}, got"
                f" {config_type.name!r}."
            )
        return cls


def _imported(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def _package(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else entry.dist.name
