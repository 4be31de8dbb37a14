"""gaug datasets: list the built-in graphs, and download them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from gaug.cli import options

datasets_app = typer.Typer(
    invoke_without_command=True,
    help="List the built-in graphs with their statistics, or fetch one.",
)


@datasets_app.callback()
def datasets(
    context: typer.Context,
    data_root: options.DataRoot = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """List the built-in graphs, their sizes, and whether they are present."""
    context.obj = data_root
    if context.invoked_subcommand is not None:
        return
    rows = _rows(data_root, quiet=quiet)
    if as_json:
        print(json.dumps(rows))
        return
    from gaug.data.folders import data_root as resolve

    table = Table(box=None, pad_edge=False)
    table.add_column("graph", no_wrap=True)
    for column in ("nodes", "edges", "features", "non-zero", "classes", "homophily"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("present", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    console = Console()
    console.print(table)
    folder = resolve(data_root)
    console.print(f"Data folder: {folder}", markup=False, highlight=False, soft_wrap=True)
    for row in rows:
        if "error" in row:
            console.print(row["error"], markup=False, highlight=False, soft_wrap=True)
    missing = [row["name"] for row in rows if not row["present"]]
    if missing:
        console.print(f"Missing: {', '.join(missing)}. 'gaug datasets fetch NAME' downloads one.")


@datasets_app.command()
def fetch(
    context: typer.Context,
    name: options.CatalogName,
    data_root: options.DataRoot = None,
    debug: options.Debug = False,
) -> None:
    """Download the raw files of a graph into the data folder."""
    from gaug.data.catalog.loading import fetch_graph

    folder = fetch_graph(name, data_root or context.obj)
    typer.echo(f"{name} is in {folder}" if name != "karate" else "karate is embedded.")


def _rows(data_root: Path | None, *, quiet: bool) -> list[dict[str, Any]]:
    from gaug.data.catalog.entries import CATALOG
    from gaug.data.catalog.loading import load_graph
    from gaug.data.folders import data_root as resolve
    from gaug.errors import DataError
    from gaug.graph.homophily import edge_homophily
    from gaug.graph.labels import num_classes
    from gaug.graph.matrices import feature_density

    root = resolve(data_root)
    rows = []
    console = Console(stderr=True, quiet=quiet)
    with console.status("Reading graphs ...") as status:
        for entry in CATALOG.values():
            row: dict[str, Any] = {
                "name": entry.name,
                "title": entry.title,
                "present": not entry.missing(root),
                "source": entry.source,
                "scaling": entry.scaling,
                "split": entry.split,
            }
            if row["present"]:
                status.update(f"Reading {entry.name} ...")
                try:
                    data = load_graph(entry.name, root, "as-is")
                except DataError as error:
                    rows.append(row | {"error": str(error)})
                    continue
                row |= {
                    "nodes": data.num_nodes,
                    "edges": data.num_edges // 2,
                    "features": data.num_features,
                    "feature_density": feature_density(data.x),
                    "classes": num_classes(data),
                    "edge_homophily": edge_homophily(data.edge_index, data.y),
                }
            rows.append(row)
    return rows


def _cells(row: dict[str, Any]) -> list[str]:
    if "nodes" not in row:
        return [row["name"], *["–"] * 6, "damaged" if row["present"] else "no"]
    homophily = row["edge_homophily"]
    return [
        row["name"],
        f"{row['nodes']:,}",
        f"{row['edges']:,}",
        f"{row['features']:,}",
        f"{row['feature_density']:.1%}",
        str(row["classes"]),
        "–" if homophily is None else f"{homophily:.2f}",
        "yes",
    ]
