"""gaug explain: why two nodes were joined, parted or left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gaug.cli import options


def explain(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that 'gaug augment' wrote.")
    ],
    source: Annotated[str, typer.Argument(metavar="U", help="Id of a node.")],
    target: Annotated[str, typer.Argument(metavar="V", help="Id of another node.")],
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Explain a pair of nodes: its score and rank, and what the two nodes have in common."""
    from gaug.inspection.augmentation import Augmentation

    reasons = Augmentation.read(folder).explain_pair(source, target)
    if as_json:
        print(json.dumps(reasons.to_dict()))
        return
    for line in reasons.lines():
        print(line)
