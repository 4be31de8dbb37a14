"""gaug reproduce: run a study, such as a table or figure of the paper, or all of them."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaug.choosing.limits import TRIAL_RUNS
from gaug.cli import options
from gaug.cli.executor import Cluster, check_limit, check_workers, open_executor
from gaug.cli.writing import this_command
from gaug.data.source import GraphSource
from gaug.drawing.suffixes import FORMAT_OF_SUFFIX, PICTURE_SUFFIXES, RECORD_SUFFIX
from gaug.drawing.table import FORMATS, render
from gaug.errors import ConfigError, DataError, GaugError, unknown_name
from gaug.studies.registry import STUDIES, find_study
from gaug.studies.scope import StudyOptions

if TYPE_CHECKING:
    from gaug.runs.plan import Plan

#: The name of all studies together.
ALL = "all"


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{', '.join(STUDIES)}, or all.")],
    graphs: Annotated[
        str | None, typer.Option(help="Only these graphs, separated by commas.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Only these models, separated by commas.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, separated by commas.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", "-n", help="Runs of each cell (default: 5 to 30).")
    ] = None,
    settings: Annotated[
        str | None,
        typer.Option(
            help="Source of the method settings: default; published, by the paper's authors, who"
            " chose them by test score; search, on validation nodes. By default that of the study.",
        ),
    ] = None,
    trial_runs: Annotated[
        int, typer.Option(help="Runs of each setting that a search tries.")
    ] = TRIAL_RUNS,
    time_budget: Annotated[
        float | None, typer.Option(help="Seconds after which no new run starts.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Run nothing: show what is on record, what is missing, and its cost."
        ),
    ] = False,
    form: Annotated[
        str, typer.Option("--format", help="Output format: markdown, latex, csv or json.")
    ] = "markdown",
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="Also write a file: .md, .tex, .csv or .json for the numbers, .png, .svg or"
            " .pdf for the picture of a figure, .jsonl for a record, to which cells are added."
            " Repeatable. With all, a folder.",
        ),
    ] = None,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    cluster: Cluster = None,
    max_memory: options.MaxMemory = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Reproduce a table or figure of the paper, with its numbers next to ours.

    The study 'choices' is not of the paper: it compares auto and searches on all graphs at hand.
    Recorded runs are not repeated, so an interrupted command continues where it stopped. The
    authors' splits are used if the data folder has them as splits/NAME.npz. Cells whose runs take
    over 30 seconds get 10 runs; a failed cell is marked in the table.
    """
    check_workers(workers)
    check_limit(max_memory, cluster)
    if trial_runs < 1:
        raise ConfigError(f"trial_runs must be at least 1, got {trial_runs}.")
    if time_budget is not None and not 0 < time_budget < math.inf:
        raise ConfigError(f"time_budget must be above 0 and finite, got {time_budget:g}.")
    if form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    asked = StudyOptions(
        runs=runs,
        graphs=options.some_of(graphs),
        models=options.some_of(models),
        methods=options.some_of(methods),
        settings=settings,
        seed=seed,
        root=data_root,
    )
    names = _checked_names(name, asked, out or [])
    from gaug.cli.progress import run_progress
    from gaug.cli.study_files import write_files, write_folder
    from gaug.runs.executor import ThisProcess
    from gaug.runs.graphs import Graphs
    from gaug.runs.store import Store
    from gaug.studies.everything import Part, gather, overview, run_parts

    studies = [STUDIES[one].load() for one in names]
    if name == ALL:
        parts = gather(studies, asked)
    else:
        parts = [Part(study, study.cells(asked)) for study in studies]
    cells = [cell for part in parts for cell in part.cells]
    there = [cell.plan for cell in cells if _is_there(cell.plan, data_root, must=name != ALL)]
    opened, held = Store(store), Graphs(data_root)
    runs_of_cells = sum(len(cell.runs) for cell in cells)
    if dry_run:
        time_budget = 0.0
    with (
        options.resumable(),
        ThisProcess()
        if dry_run
        else open_executor(
            workers, cluster, runs=runs_of_cells, plans=there, graphs=held, quiet=quiet
        ) as executor,
        run_progress(name, 100, quiet=quiet, unit="%") as move,
    ):
        results = run_parts(
            parts,
            store=opened,
            graphs=held,
            executor=executor,
            trial_runs=trial_runs,
            time_budget=math.inf if time_budget is None else time_budget,
            on_work=lambda done, total: move(100 * done / total if total else 100),
        )
    told = list(parts)
    for place, (part, found) in enumerate(zip(parts, results, strict=True)):
        if part.failure is not None:
            continue
        try:
            outcomes = [
                dataclasses.replace(outcome, command=this_command())
                for outcome in part.study.outcomes(found, held, asked)
            ]
            if name == ALL:
                for folder in out or []:
                    write_folder(part.study, outcomes, folder)
            else:
                write_files(part.study, outcomes, out or [])
        except GaugError as error:
            if name != ALL:
                raise
            told[place] = dataclasses.replace(part, failure=str(error))
    if name == ALL or dry_run:
        table = overview(told, results, opened.mean_seconds(), trial_runs)
    else:
        table = part.study.full_table(outcomes)
    print(render(table, form), end="")


def _is_there(plan: Plan, data_root: Path | None, *, must: bool) -> bool:
    """Whether the graph of a plan is in the data folder; raises if it must be and is not."""
    try:
        if isinstance(plan.graph, GraphSource):
            plan.graph.check(data_root)
    except DataError:
        if must:
            raise
        return False
    return True


def _checked_names(name: str, asked: StudyOptions, out: list[Path]) -> list[str]:
    """The studies to run; raises if an option does not go with them."""
    if name == ALL:
        for kind in ("graphs", "models", "methods", "settings"):
            if getattr(asked, kind) is not None:
                raise ConfigError(f"all takes no --{kind}: every study has its own. Leave it out.")
        for path in out:
            if path.suffix:
                raise ConfigError(
                    f"all writes to a folder, got {path}. Give a name without ending."
                )
        return list(STUDIES)
    entry = find_study(name)
    endings = [*FORMAT_OF_SUFFIX, *(PICTURE_SUFFIXES if entry.scope.has_picture else ())]
    endings.append(RECORD_SUFFIX)
    for path in out:
        if path.suffix not in endings:
            raise ConfigError(f"{path} must end in {', '.join(endings[:-1])} or {endings[-1]}.")
    entry.scope.check(name, asked)
    return [name]
