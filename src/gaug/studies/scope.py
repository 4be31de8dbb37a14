"""The options of a study, checked without PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gaug.config import check_count, check_seed
from gaug.data.folders import own_graphs
from gaug.errors import ConfigError, unknown_name

#: Where the settings of a method may come from: its defaults, the paper's authors, or a search.
SETTINGS = ("default", "published", "search")


@dataclass(frozen=True)
class StudyOptions:
    """Options given to a study.

    Attributes:
        runs: Number of runs of each cell; None for the study's default.
        graphs: Only these graphs; None for all.
        models: Only these models; None for all.
        methods: Only these methods; None for all.
        settings: Where settings come from, one of `SETTINGS`; None for the study's default.
        seed: Seed from which the seeds of all runs are derived.
        root: The data root.
    """

    runs: int | None = None
    graphs: Sequence[str] | None = None
    models: Sequence[str] | None = None
    methods: Sequence[str] | None = None
    settings: str | None = None
    seed: int = 0
    root: Path | None = None

    def __post_init__(self) -> None:
        if self.runs is not None:
            check_count("runs", self.runs)
        check_seed(self.seed)


@dataclass(frozen=True)
class Scope:
    """What a study can be restricted to, and its defaults.

    Attributes:
        graphs: Graphs that it can be restricted to; empty if there is no choice.
        models: Likewise for models.
        methods: Likewise for methods.
        runs: Default number of runs of each cell.
        settings: Where settings may come from; the first is the default.
        has_picture: Whether it can be drawn.
        has_own_graphs: Whether it also takes your own graphs in the data folder; see
            `gaug.data.folders.own_graphs`.
    """

    graphs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    runs: int = 30
    settings: tuple[str, ...] = ("default",)
    has_picture: bool = False
    has_own_graphs: bool = False

    def check(self, name: str, options: StudyOptions) -> None:
        """Raise if an option is not available in a study.

        Args:
            name: Name of the study.
            options: Options given to it.
        """
        for kind in ("graphs", "models", "methods"):
            asked, known = getattr(options, kind), self._known(kind, options)
            if asked is None:
                continue
            if not known:
                raise ConfigError(f"{name} has no {kind} to choose from. Leave them out.")
            for one in asked:
                if one not in known:
                    raise unknown_name(kind.removesuffix("s"), one, known)
        if options.settings is not None and options.settings not in self.settings:
            if options.settings not in SETTINGS:
                raise unknown_name("settings", options.settings, SETTINGS)
            raise ConfigError(
                f"{name} takes settings {' or '.join(self.settings)}, got {options.settings}."
            )

    def chosen(self, options: StudyOptions, kind: str) -> tuple[str, ...]:
        """The selected graphs, models or methods."""
        asked = getattr(options, kind)
        return self._known(kind, options) if asked is None else tuple(dict.fromkeys(asked))

    def _known(self, kind: str, options: StudyOptions) -> tuple[str, ...]:
        known: tuple[str, ...] = getattr(self, kind)
        if kind == "graphs" and self.has_own_graphs:
            own = own_graphs(options.root)
            known = (*known, *(name for name in own if name not in known))
        return known

    def run_numbers(self, options: StudyOptions) -> range:
        """The numbers of the runs of a cell."""
        return range(self.runs if options.runs is None else options.runs)

    def source_of_settings(self, options: StudyOptions) -> str:
        """Where settings come from."""
        return options.settings or self.settings[0]
