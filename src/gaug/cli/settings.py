"""gaug settings: every setting that --set takes."""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding

from gaug.cli import options


def settings(
    what: Annotated[
        str | None,
        typer.Argument(help="Only a model, a method, a predictor, training, split or graph."),
    ] = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List every setting that --set takes, with its default and range.

    "searched" marks the values that 'gaug search' tries.
    """
    from gaug.errors import unknown_name

    rows = _rows()
    by_name = {_short(row["group"]) for row in rows}
    if what is not None:
        if what not in by_name:
            raise unknown_name("group of settings", what, by_name)
        rows = [row for row in rows if _short(row["group"]) == what]
    else:  # those of a stack are those of its parts
        rows = [row for row in rows if "+" not in row["group"]]
    if as_json:
        print(json.dumps(rows))
        return
    console = Console(highlight=False)
    for group, members in itertools.groupby(rows, key=lambda row: row["group"]):
        console.print(f"[bold]{group}[/bold]")
        for row in members:
            allowed = f"; {row['range']}" if row["range"] else ""
            if row["searched"]:
                allowed += f"; searched: {row['searched']}"
            console.print(f"  {row['name']} = {row['default']}{allowed}", markup=False)
            console.print(Padding(row["help"], (0, 0, 0, 6)))


def _short(group: str) -> str:
    """The user-facing name of a group: ``gcn`` for ``--model gcn``, ``split`` for ``--split``."""
    return group.split(" ")[-1].split("=")[-1].lstrip("-")


def _rows() -> list[dict[str, Any]]:
    from gaug.config import Config
    from gaug.data.config import DataConfig, SplitConfig
    from gaug.edge_predictors.registry import PREDICTORS
    from gaug.methods.registry import METHODS
    from gaug.models.registry import MODELS
    from gaug.training.config import TrainingConfig

    groups: dict[str, type[Config]] = {
        **{f"--model {name}": config for name, config in MODELS.config_types().items()},
        **{f"--method {name}": config for name, config in METHODS.config_types().items()},
        **{f"predictor={name}": config for name, config in PREDICTORS.config_types().items()},
        "training": TrainingConfig,
        "--split": SplitConfig,
        "graph": DataConfig,
    }
    return [
        {
            "group": group,
            "name": field.name,
            "default": field.default,
            "range": _allowed(field.metadata),
            "searched": _searched(field.metadata["search"]),
            "help": field.metadata["help"],
        }
        for group, config in groups.items()
        for field in dataclasses.fields(config)
    ]


def _allowed(metadata: Any) -> str:
    if metadata["choices"] is not None:
        return " ".join(metadata["choices"])
    return "" if metadata["within"] is None else str(metadata["within"])


def _searched(values: Any) -> str:
    if values is None:
        return ""
    return " ".join(values) if isinstance(values, tuple) else str(values)
