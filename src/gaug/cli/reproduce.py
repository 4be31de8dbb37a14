"""gaug reproduce: a table or figure of the paper."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gaug.cli import options
from gaug.errors import ConfigError, DataError, unknown_name


def reproduce(
    what: Annotated[str, typer.Argument(help="What to make: table2.")],
    graphs: Annotated[
        str | None, typer.Option(help="Only these graphs, separated by commas.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Only these models, separated by commas.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, separated by commas.")
    ] = None,
    runs: options.Runs = 30,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the table there as Markdown as well.")
    ] = None,
    data_root: options.DataRoot = None,
    store: options.StoreUrl = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Make a table of the paper, its numbers beside ours.

    Runs that are on record are not done again, so an interrupted command goes on where it was.
    Methods have their default settings. Cells whose run takes over 30 seconds get 10 runs. The
    authors' splits are used where the data folder has them as splits/NAME.npz.
    """
    if what != "table2":
        raise unknown_name("table or figure", what, ["table2"])
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, got {runs}.")
    from gaug.cli.progress import run_progress
    from gaug.data.folders import written_atomically
    from gaug.report.tables import table2_markdown
    from gaug.store import Store
    from gaug.studies import table2

    chosen = table2.table2_cells(
        _part("graph", graphs, table2.GRAPHS),
        _part("model", models, table2.MODELS),
        _part("method", methods, table2.METHODS),
    )
    if not chosen:
        raise ConfigError("No cell of table 2 is chosen: an MLP uses no edges and has no methods.")
    opened = Store(store)
    results = []
    for number, cell in enumerate(chosen, start=1):
        what_now = f"{number}/{len(chosen)} {cell.graph}, {cell.model}, {cell.method}"
        with run_progress(what_now, runs, quiet=quiet) as move:
            result = table2.run_cell(
                cell,
                opened,
                runs=runs,
                workers=options.sensible_workers(workers, runs),
                root=data_root,
                seed=seed,
                on_progress=move,
            )
        results.append(result)
    command = shlex.join(["gaug", *sys.argv[1:]])
    text = table2_markdown(results, command)
    if out is not None:
        try:
            with written_atomically(out) as temporary:
                temporary.write_text(text, encoding="utf-8")
        except OSError as error:
            raise DataError(f"The table {out} cannot be written: {error.strerror}.") from error
    Console(soft_wrap=True, highlight=False).print(text, markup=False)


def _part(kind: str, chosen: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if chosen is None:
        return known
    names = tuple(name.strip() for name in chosen.split(",") if name.strip())
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)
    if not names:
        raise unknown_name(kind, chosen, known)
    return names
