"""Command-line options that fix an error of the library."""

from __future__ import annotations

from gaug.errors import GaugError

#: A sentence for each topic of an error.
REMEDIES: dict[str, str] = {
    "data-root": "Or use --data-root FOLDER.",
    **{
        f"{kind}-file": f"Use --{kind} FILE."
        for kind in ("edges", "features", "labels", "nodes", "split")
    },
    "whole-graph": "Leave out --edges, --features, --labels and --nodes.",
    "no-columns": "Leave out --column.",
    "end-columns": "Use --column source=NAME and --column target=NAME.",
    "label-column": "Use --column label=NAME.",
    "drop-column": "Use --column drop=NAME.",
    "split-settings": "Use --set NAME=VALUE or --split FILE.",
    "not-empty": "--force replaces an earlier result in it.",
    "max-memory": "Or raise --max-memory.",
    "preset": "Or leave --preset out.",
    "store": "Use --store to select another.",
    "edge-weights": "--column drop=weight ignores the weights of a file.",
    "feature-scaling": "--set feature_scaling=as-is leaves them unchanged.",
}


def with_remedy(error: GaugError) -> str:
    """The message, followed by what to do about it on the command line."""
    remedy = REMEDIES.get(error.topic or "")
    return f"{error} {remedy}" if remedy else str(error)
