"""gaug report: everything in the store as one page, or what was changed in a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaug.cli import options
from gaug.cli.writing import check_page, this_command, write_text
from gaug.errors import ConfigError


def report(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="Folder that 'gaug augment' wrote."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, .html. By default report.html in DIR."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    store: options.StoreUrl = None,
    debug: options.Debug = False,
) -> None:
    """Write a web page: of all recorded runs, or of what 'gaug augment' changed in a graph.

    The page is one file that needs no network. It can be made at any time, also while runs are
    being recorded.
    """
    if folder is not None and store is not None:
        raise ConfigError("--store has no effect on the page of a folder. Leave one out.")
    if folder is None and out is None:
        raise ConfigError("Give a folder that 'gaug augment' wrote, or --out FILE.html.")
    if out is not None:
        check_page(out, force=force)
    if folder is not None:
        from gaug.inspection.augmentation import Augmentation
        from gaug.report.augmentation import PAGE, summarize_change
        from gaug.report.augmentation_page import augmentation_page

        done = Augmentation.read(folder)
        summary = summarize_change(done.graph.data, done.better, done.change)
        target = out or folder / PAGE
        page = augmentation_page(done, summary, this_command(page=True))
    else:
        from gaug.report.store_page.page import store_page
        from gaug.runs.store import Store

        assert out is not None
        target = out
        page = store_page(Store(store, create=False), this_command(page=True))
    text = page.render()
    write_text(text, target)
    print(f"Written to {target} ({len(text.encode()) / 1e6:.1f} MB)")
