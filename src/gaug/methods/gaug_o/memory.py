"""The memory of sampled graphs, to refuse what cannot fit before starting."""

from __future__ import annotations

from gaug.memory import check_fits
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.models.config import GATConfig
from gaug.models.spec import ModelSpec

# Measured peak bytes of an epoch, forward and backward: per entry of N×N if all pairs are held, and
# per edge of a sampled graph, including the model's work on it.
_DENSE_ENTRY = 64
SUMMED_EDGE = 96  # models that sum over neighbors
_ATTENDED_EDGE = 1600  # 8 heads
# A user-defined module holds messages in both directions, here 128 units in PyTorch Geometric
# layers; narrower ones take less, wider ones more.
_LISTED_EDGE = 4800


def edge_bytes(model: ModelSpec | None = None) -> int:
    """Bytes per edge of a sampled graph; a lower bound for user-defined modules.

    Args:
        model: The classifier; by default one that sums over neighbors.
    """
    attends = model is not None and isinstance(model.config, GATConfig)
    return _ATTENDED_EDGE if attends else SUMMED_EDGE


def check_settings(config: GAugOConfig, num_nodes: int, model: ModelSpec | None = None) -> None:
    """Raise if these settings need too much memory for a graph with this many nodes.

    Args:
        config: The settings.
        num_nodes: Number of nodes.
        model: The classifier; by default one that sums over neighbors.
    """
    if config.engine == "dense":
        check_all_pairs(num_nodes, "engine=dense", "Use engine=auto.")
    if config.alpha == 0 or config.variant == "random":
        return
    of_a_user = model is not None and model.is_custom
    if config.edge_probability == "sigmoid":
        bytes_each = _LISTED_EDGE if of_a_user else edge_bytes(model)
        share = config.alpha / 2
        check_fits(
            bytes_each * share * num_nodes**2 / 2,
            f"edge_probability=sigmoid, which joins about {share:.0%} of all pairs,",
            "Lower alpha, or use edge_probability=max-normalized.",
            num_nodes=num_nodes,
        )
    elif config.variant == "no-sampling" and of_a_user:
        check_list(num_nodes)


def check_sample(num_edges: float, num_nodes: int, bytes_each: int) -> None:
    """Raise if a sampled graph with about this many edges does not fit into memory.

    Args:
        num_edges: Expected number of edges, which max_sampled_edges limits for engine=sparse.
        num_nodes: Number of nodes.
        bytes_each: From `edge_bytes`.
    """
    check_fits(
        num_edges * bytes_each,
        f"A sampled graph of about {num_edges:,.0f} edges",
        "Lower alpha, or use features that nodes do not share (feature_scaling=columns).",
        num_nodes=num_nodes,
    )


def check_all_pairs(num_nodes: int, what: str, remedy: str) -> None:
    """Raise if a matrix of all pairs and its gradient do not fit into memory."""
    check_fits(_DENSE_ENTRY * num_nodes**2, what, remedy, num_nodes=num_nodes)


def check_list(num_nodes: int) -> None:
    """Raise if a module's work on a list of all pairs does not fit into memory."""
    check_fits(
        _LISTED_EDGE * num_nodes**2 / 2,
        "variant=no-sampling with a module that lists its edges",
        "Use a model of this package (gcn, gsage, gat, jknet), or variant=full.",
        num_nodes=num_nodes,
    )
