"""What sampled graphs take in memory, so that what cannot fit is refused before it is begun."""

from __future__ import annotations

import psutil

from gaug.errors import ConfigError
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.models.config import GATConfig
from gaug.models.spec import ModelSpec

# Bytes at the peak of an epoch, forward and backward, by measurement: for each entry of N×N where
# all pairs are held, and for each edge of a sampled graph with what a model does with it.
_DENSE_ENTRY = 64
SUMMED_EDGE = 96  # of models that sum over neighbors
_ATTENDED_EDGE = 1600  # 8 heads
# A user-defined module holds messages in both directions: 128 units in layers of PyTorch Geometric;
# narrow ones take less, wide ones more.
_LISTED_EDGE = 4800


def edge_bytes(model: ModelSpec | None = None) -> int:
    """What an edge of a sampled graph takes; with a user-defined module, at least.

    Args:
        model: The classifier; by default one that sums over neighbors.
    """
    attends = model is not None and isinstance(model.config, GATConfig)
    return _ATTENDED_EDGE if attends else SUMMED_EDGE


def check_settings(config: GAugOConfig, num_nodes: int, model: ModelSpec | None = None) -> None:
    """Raise if what these settings hold does not fit for a graph of so many nodes.

    Args:
        config: The settings.
        num_nodes: Number of nodes.
        model: The classifier; by default one that sums over neighbors.
    """
    if config.engine == "dense":
        check_all_pairs(num_nodes, "engine=dense", "Take engine=blocked.")
    if config.alpha == 0 or config.variant == "random":
        return
    of_a_user = model is not None and model.is_custom
    if config.edge_probability == "sigmoid":
        bytes_each = _LISTED_EDGE if of_a_user else edge_bytes(model)
        share = config.alpha / 2
        _check(
            bytes_each * share * num_nodes**2 / 2,
            num_nodes,
            f"edge_probability=sigmoid, which joins about {share:.0%} of all pairs,",
            "Lower alpha, or take edge_probability=max-normalized.",
        )
    elif config.variant == "no-sampling" and of_a_user:
        check_list(num_nodes)


def check_sample(num_edges: float, num_nodes: int, bytes_each: int) -> None:
    """Raise if a sampled graph of about so many edges does not fit.

    Args:
        num_edges: Number of edges that are expected.
        num_nodes: Number of nodes.
        bytes_each: From `edge_bytes`.
    """
    _check(
        num_edges * bytes_each,
        num_nodes,
        f"A sampled graph of about {num_edges:,.0f} edges",
        "Lower alpha, or take features that nodes do not share (feature_scaling=columns).",
    )


def check_all_pairs(num_nodes: int, what: str, remedy: str) -> None:
    """Raise if a matrix of all pairs, with its gradient, does not fit."""
    _check(_DENSE_ENTRY * num_nodes**2, num_nodes, what, remedy)


def check_list(num_nodes: int) -> None:
    """Raise if a list of all pairs of so many nodes does not fit into the work of a module."""
    _check(
        _LISTED_EDGE * num_nodes**2 / 2,
        num_nodes,
        "variant=no-sampling with a module that lists its edges",
        "Take a model of this package (gcn, gsage, gat, jknet), or variant=full.",
    )


def _check(needed: float, num_nodes: int, what: str, remedy: str) -> None:
    available = psutil.virtual_memory().available
    if needed > available:
        raise ConfigError(
            f"{what} needs about {needed / 1e9:.1f} GB for {num_nodes:,} nodes, and"
            f" {available / 1e9:.1f} GB are free. {remedy}"
        )
