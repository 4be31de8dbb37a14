"""Scores and settings published by the paper and its authors, for comparison.

They are in ``paper.json``. Source: Zhao et al., "Data Augmentation for Graph Neural Networks", AAAI
2021, tables 2, 3, 5, 6 and 7: mean and standard deviation of the test micro-F1 in percent over 30
runs; figure 1: means, tested on the modified and on the original graph. The settings of GAug-O are
from github.com/zhao-tong/GAug, the best for each graph and model.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from gaug.errors import ConfigError

Score = tuple[float, float]

_PAPER: dict[str, Any] = json.loads(
    files("gaug.studies").joinpath("paper.json").read_text(encoding="utf-8")
)

#: The graphs of table 2.
TABLE2_GRAPHS = tuple(_PAPER["table2"]["gcn"]["none"])
#: The columns of table 3. For JK-Net on the original graph it prints 78.0, and 78.8 in table 2.
TABLE3_MODELS = ("gcn", "gsage", "gat", "jknet")

#: Test micro-F1 in figure 1, tested on the modified and on the original graph.
FIGURE1: dict[str, tuple[float | None, float]] = {
    variant: (modified, original) for variant, (modified, original) in _PAPER["figure1"].items()
}

#: The graphs of table 5.
TABLE5_GRAPHS = tuple(_PAPER["table5"])

# The authors' program waits this long for a better validation score.
_PATIENCE = 100


def table2_score(graph: str, model: str, method: str) -> Score | None:
    """Mean and deviation of a cell of table 2; None if the paper has no number.

    >>> table2_score("cora", "gcn", "none")
    (81.6, 0.7)
    """
    return _score(_PAPER["table2"].get(model, {}).get(method, {}).get(graph))


def table3_score(variant: str, model: str) -> Score | None:
    """Mean and deviation of a cell of table 3, the ablation on Cora; None if there is none.

    >>> table3_score("rounding", "gcn")
    (82.5, 0.5)
    """
    return _score(_PAPER["table3"].get(variant, {}).get(model))


def table5_score(graph: str, method: str) -> Score:
    """Mean and deviation of a cell of table 5, mini-batches with a GCN.

    >>> table5_score("pubmed", "gaug-m")
    (80.2, 0.3)
    """
    mean, deviation = _PAPER["table5"][graph][method]
    return mean, deviation


def table6_score(graph: str, model: str, variant: str) -> Score | None:
    """Mean and deviation of a cell of table 6: plain, and GAug-M tested on either graph.

    For GAT on Flickr it prints 49.6 on the original graph, and 46.9 in table 2.

    >>> table6_score("cora", "gcn", "original")
    (83.1, 0.5)
    """
    return _score(_PAPER["table6"].get(model, {}).get(variant, {}).get(graph))


def table7_score(depth: str | int, model: str, method: str) -> Score | None:
    """Mean and deviation of a cell of table 7, deeper GNNs on Cora.

    >>> table7_score(8, "gcn", "gaug-o")
    (77.4, 1.9)
    """
    return _score(_PAPER["table7"].get(str(depth), {}).get(method, {}).get(model))


def published_settings(graph: str, model: str, method: str) -> dict[str, Any]:
    """The settings that the authors published for GAug-O, which they chose by test score.

    GraphSAGE counts a node once among its neighbors here, not twice as in table 2, with GAug-O and
    without it: on Cora that is 0.9 points nearer to the paper's GAug-O, on Citeseer it makes no
    difference, and validation nodes do not tell the two apart. The engine is the one that goes
    through every pair of nodes, as the authors' program does.

    >>> settings = published_settings("cora", "gcn", "gaug-o")
    >>> settings["alpha"], settings["beta"], settings["patience"]
    (1.0, 0.8, 100)
    """
    of_model = {"self_weight": 1.0} if model == "gsage" else {}
    if method == "none":
        return of_model
    found = _PAPER["published_gaug_o"].get(graph, {}).get(model)
    if method != "gaug-o" or found is None:
        raise ConfigError(
            f"There are no published settings for {method} with {model} on {graph}."
            " Choose them on validation nodes instead."
        )
    return {**found, "patience": _PATIENCE, "engine": "blocked", **of_model}


def _score(found: list[float] | None) -> Score | None:
    return None if found is None else (found[0], found[1])
