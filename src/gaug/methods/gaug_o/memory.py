"""The memory of sampled graphs, to refuse what cannot fit before starting."""

from __future__ import annotations

from dataclasses import replace

from gaug.memory import Room, check_fits, held_memory
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.models.config import GATConfig
from gaug.models.spec import ModelSpec

# Measured peak bytes of an epoch, forward and backward: per entry of N×N if all pairs are held, and
# per edge of a sampled graph, including the model's work on it.
_DENSE_ENTRY = 64
SUMMED_EDGE = 96  # models that sum over neighbors
_ATTENDED_EDGE, _HEADS = 1600, 9  # attention of 8 heads, and of the one of the output
# A user-defined module holds messages in both directions, here 128 units in PyTorch Geometric
# layers; narrower ones take less, wider ones more.
_LISTED_EDGE = 4800


def edge_bytes(model: ModelSpec | None = None) -> int:
    """Bytes per edge of a sampled graph; a lower bound for user-defined modules.

    Args:
        model: The classifier; by default one that sums over neighbors.
    """
    config = None if model is None else model.config
    if not isinstance(config, GATConfig):
        return SUMMED_EDGE
    heads = config.heads * (config.layers - 1) + 1
    return _ATTENDED_EDGE * heads // _HEADS


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


class SampleRoom:
    """The room for sampled graphs, of which there is one at a time.

    What the process has taken since the first is the memory of the one before, and what was kept of
    it for reuse: the next one gets it.
    """

    def __init__(self) -> None:
        self._held: int | None = None

    def check(self, num_edges: float, num_nodes: int, bytes_each: int, engine: str) -> None:
        """Raise if a sampled graph with about this many edges does not fit into memory.

        Args:
            num_edges: Expected number of edges.
            num_nodes: Number of nodes.
            bytes_each: From `edge_bytes`.
            engine: How it is drawn, which decides what would help.
        """
        held, room = held_memory(), Room.left()
        if self._held is None:
            self._held = held
        remedy = (
            "Lower alpha, or use a lower max_sampled_edges or a batch_size."
            if engine == "sparse"
            else "Lower alpha, or use engine=sparse, a batch_size, or features that nodes do not"
            " share (feature_scaling=columns)."
        )
        check_fits(
            num_edges * bytes_each,
            f"A sampled graph of about {num_edges:,.0f} edges",
            remedy,
            num_nodes=num_nodes,
            room=replace(room, free=room.free + max(0, held - self._held)),
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
