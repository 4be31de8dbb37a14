"""Options that several commands share, each declared once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaug.config import check_count
from gaug.errors import ConfigError
from gaug.memory import max_memory, set_max_memory
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS

if TYPE_CHECKING:
    from gaug.data import splits
    from gaug.data.loaded import LoadedGraph
    from gaug.data.source import GraphSource
    from gaug.runs.checkpoints import Checkpoints
    from gaug.runs.plan import Plan


class _State:
    """What the error handler needs to know about the command line."""

    debug = False
    interruption_told = False


state = _State()


def _set_debug(value: bool) -> bool:
    state.debug = state.debug or value
    return value


def _set_max_memory(value: str | None) -> str | None:
    if value is not None:
        set_max_memory(value)
    max_memory()  # raises now if the environment has something else than a size
    return value


CatalogName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of a graph; 'gaug datasets' lists them.")
]
Graph = Annotated[
    str | None,
    typer.Argument(
        metavar="[GRAPH]",
        help="Name of a graph ('gaug datasets' lists them), or your own: a folder with edges.csv,"
        " features.csv and labels.csv, a .pt file with a Data, or a .graphml file.",
    ),
]
Model = Annotated[str, typer.Option("--model", "-m", help=f"Classifier: {', '.join(MODELS)}.")]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        help=f"Augmentation: {', '.join(METHODS)}; in 'gaug train' and 'gaug fit' also auto, which"
        " tries several.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any setting; 'gaug settings' lists them. Repeatable.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        help="public, random, stratified, per-class, or a file: .npz with train, val and test, or"
        " a table of nodes and parts. By default the graph's own split, or else stratified.",
    ),
]
Runs = Annotated[int, typer.Option("--runs", "-n", help="Number of runs.")]
Seed = Annotated[int, typer.Option(help="Seed from which the seeds of all runs are derived.")]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Number of worker processes; on a cluster, of runs at a time. By default chosen from"
        " the cores and runs, or as many as the cluster has room for."
    ),
]
Threads = Annotated[int, typer.Option(help="Threads per run.")]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        callback=_set_max_memory,
        help="Memory that all processes together may use, for example 4GB. By default what is free."
        " Also GAUG_MAX_MEMORY.",
    ),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps.")]
DataRoot = Annotated[
    Path | None,
    typer.Option(help="Folder of raw graphs; may be read-only. Also GAUG_DATA."),
]
StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store", help="Store of run records: a file or a SQLAlchemy URL. Also GAUG_STORE."
    ),
]
CheckpointMinutes = Annotated[
    float | None,
    typer.Option(
        help="Minutes of training between two checkpoints of a run; 5 by default. The same command"
        " goes on from the last one. Also GAUG_CHECKPOINT_MINUTES.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress on standard error.")]
Debug = Annotated[
    bool,
    typer.Option("--debug", callback=_set_debug, help="Show the traceback of an error."),
]


def make_plan(
    source: GraphSource,
    data_root: Path | None,
    *,
    model: str = "gcn",
    method: str = "none",
    settings: list[str] | None = None,
    split: str | None = None,
    seed: int = 0,
    threads: int = 1,
    device: str = "cpu",
) -> Plan:
    """The plan that the options describe; raises on every invalid option."""
    from gaug.data.config import check_split
    from gaug.runs.plan import Plan

    plan = Plan.of(
        source,
        model=model,
        method=method,
        settings=settings or [],
        split=split,
        seed=seed,
        threads=threads,
        device=device,
    )
    source.check(data_root)
    if split is not None:
        check_split(split)
    return plan


def preset_settings(
    source: GraphSource, model: str, method: str, settings: list[str] | None, *, quiet: bool
) -> list[str]:
    """The settings of a preset, which is told on standard error, with given ones after them."""
    from gaug.presets.preset import find_preset

    found = find_preset(source.name, model, method)
    if not quiet:
        print(
            f"gaug: Preset {' '.join(found.texts)}: the best of {found.trials} on the validation"
            f" nodes of split {found.split} ({found.validation:.1f}).",
            file=sys.stderr,
        )
    return [*found.texts, *(settings or [])]


def tell_notes(loaded: LoadedGraph, *, quiet: bool) -> None:
    """Report on standard error how a graph was changed while reading it."""
    if not quiet:
        for note in loaded.notes:
            print(f"{loaded.name}: {note}", file=sys.stderr)


def tell_split(loaded: LoadedGraph, split: splits.Split, *, quiet: bool) -> None:
    """Report on standard error the number of nodes in each part."""
    if not quiet:
        print(
            f"{loaded.name}: {split.train.numel():,} nodes for training,"
            f" {split.val.numel():,} for validation and {split.test.numel():,} for testing"
            f" (split {split.name}).",
            file=sys.stderr,
        )


@contextlib.contextmanager
def resumable() -> Iterator[None]:
    """Report after Ctrl-C that finished runs are kept."""
    try:
        yield
    except KeyboardInterrupt:
        state.interruption_told = True
        print(
            "gaug: Interrupted. Finished runs are recorded; run the same command to continue.",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None


def refuse_control(plan: Plan) -> None:
    """Raise if a method uses the labels of all nodes, which would leak test labels."""
    if plan.method.looks_at_labels:
        raise ConfigError(
            "A predictor that uses the labels of all nodes is a control for 'gaug train', not"
            " a method."
        )


def checkpoints(folder: Path, minutes: float | None) -> Checkpoints:
    """Where the runs of a command are saved while they train."""
    from gaug.runs.checkpoints import Checkpoints

    return Checkpoints(folder) if minutes is None else Checkpoints(folder, 60 * minutes)


def check_checkpoint_minutes(minutes: float | None) -> None:
    """Raise unless it is a number of minutes."""
    if minutes is not None and not 0 <= minutes < float("inf"):
        raise ConfigError(f"--checkpoint-minutes must be 0 or more, got {minutes:g}.")


def check_runs(runs: int) -> None:
    """Raise if there is not at least one run, before anything is loaded."""
    check_count("runs", runs)


def some_of(names: str | None) -> tuple[str, ...] | None:
    """The names in a comma-separated list; None if there is no list.

    A text of only commas is returned as is, so that it is reported as an unknown name.
    """
    if names is None:
        return None
    return tuple(name.strip() for name in names.split(",") if name.strip()) or (names,)
