"""The memory of a run, estimated in advance from the sizes of its graph and its settings.

An estimate is what a run takes at its peak beyond what the process holds when the graph has been
placed. The constants are fitted to measured peaks (``python -m benchmarks.memory``).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from gaug.graph.sparse import SparseMatrix
from gaug.methods.adaedge.config import AdaEdgeConfig
from gaug.methods.bgcn.config import BGCNConfig
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.methods.gaug_o.config import GAugOConfig, resolved_engine
from gaug.methods.gaug_o.memory import edge_bytes
from gaug.methods.gaug_o.sampling_cap import added_limit
from gaug.methods.stack.config import StackConfig
from gaug.models.base import Features
from gaug.models.config import GATConfig, JKNetConfig, MLPConfig, ModelConfig
from gaug.models.spec import ModelSpec
from gaug.training.config import MethodConfig

# Bytes of a run without augmentation. An entry is an edge in one direction, or a self-loop.
_FIXED = 60_000_000  # PyTorch's first steps, and what the allocator does not give back
_NODE = 500
_FEATURE = 45  # per stored entry of sparse features: their layout by columns
_ENTRY_LAID_OUT = 45
_ENTRY_IN_STEP = 40
_HEAD_OF_ENTRY = 60
# Copies of a hidden layer, of 4 bytes per node and unit, that a step holds at once.
_PASSING_COPIES = 1.3  # gradients and products under way
_KEPT_COPIES = 3.0  # per layer, for the backward pass
_KEPT_COPIES_JKNET = 4.6
# Blocks below 32 MB are not given back to the system, and leave gaps; larger ones do not.
_GAPS, _MOST_GAPS = 0.6, 300_000_000
_DENSE_COPIES = 1.2  # of dense features; more if some are dropped
_DROPPED_COPIES = 3.0

# Of mini-batches.
_STORED_ENTRY = 12  # of sparse features
_BATCH_ENTRY = 40
_INFERENCE_COPIES = 3.0

# Bytes that methods add.
_DRAWN_ENTRY = 110  # a drawn part of the graph, normalized again
_COMPILED = 110_000_000  # Numba and the tiles of pairs
_RANKED_ENTRY = 480  # while all pairs are ranked
_MENDED_ENTRY = 160  # what is kept of that
_LEARNED_NODE = 3500  # the predictor, and the embeddings with their gradients
_LEARNED_NODE_SPARSE = 2500
_LEARNED_UNIT = 15  # per node and unit of the model's layers: the gradient of all pairs
# Share of the pairs that a predictor at its start would join, at alpha = 1.
_JOINED = 0.15


@dataclass(frozen=True)
class GraphSize:
    """The numbers of a graph that decide how much memory a run takes.

    Attributes:
        nodes: Number of nodes.
        pairs: Number of undirected edges.
        features: Stored entries of the features.
        dense: Whether the features are dense.
        step_nodes: Nodes that one training step holds; None: all.
        step_pairs: Undirected edges that one training step holds; None: all.
        passes: Passes over the nodes that one training step holds.
    """

    nodes: int
    pairs: int
    features: int
    dense: bool = False
    step_nodes: int | None = None
    step_pairs: int | None = None
    passes: int = 1

    @classmethod
    def of(cls, features: Features, pairs: int) -> GraphSize:
        """The size of a graph with these features and so many undirected edges."""
        if isinstance(features, SparseMatrix):
            return cls(features.shape[0], pairs, features.pattern.nnz)
        return cls(features.shape[0], pairs, features.numel(), dense=True)

    @property
    def entries(self) -> int:
        """Edges in both directions, and self-loops."""
        return 2 * self.pairs + self.nodes

    @property
    def nodes_in_step(self) -> int:
        """Nodes that one training step holds."""
        return self.nodes if self.step_nodes is None else self.step_nodes

    @property
    def pairs_in_step(self) -> int:
        """Undirected edges that one training step holds."""
        return self.pairs if self.step_pairs is None else self.step_pairs

    @property
    def entries_in_step(self) -> int:
        """Edges in both directions, and self-loops, that one training step holds."""
        return 2 * self.pairs_in_step + self.nodes_in_step


@dataclass(frozen=True)
class RunMemory:
    """Bytes that a run takes beyond its placed graph.

    Attributes:
        run: While it trains.
        prepare: While the method prepares what all runs share.
        drawn: Graphs that the method draws, as far as they are known in advance. The method checks
            each before it draws it, so a run is not refused for them.
    """

    run: int
    prepare: int = 0
    drawn: int = 0

    @property
    def least(self) -> int:
        """What is needed in any case."""
        return max(self.run, self.prepare)

    @property
    def peak(self) -> int:
        """The estimated peak in one process."""
        return max(self.run + self.drawn, self.prepare)


def run_memory(size: GraphSize, model: ModelSpec, method: MethodConfig) -> RunMemory:
    """The memory of a run; a lower bound for user-defined models and methods.

    Args:
        size: The size of the graph.
        model: The model.
        method: Settings of the method.
    """
    plain = _plain_run(size, model)
    drawn_graph = _DRAWN_ENTRY * size.entries_in_step * size.passes
    match method:
        case DropEdgeConfig():
            layers = getattr(model.config, "layers", 1) if method.layer_wise else 1
            return RunMemory(plain + layers * drawn_graph, plain)
        case AdaEdgeConfig():
            return RunMemory(plain + drawn_graph, plain)
        case BGCNConfig():
            return RunMemory(plain + 3 * drawn_graph, plain)
        case GAugMConfig():
            changed = _changed(size, method)
            kept = _COMPILED + _MENDED_ENTRY * size.entries
            ranking = _laid_out(size, model) + ranking_memory(size)
            again = ranking_memory(size) if method.rounds > 1 else 0
            return RunMemory(_plain_run(changed, model) + kept + again, ranking)
        case GAugOConfig():
            width, layers = _hidden_layers(model)
            each = _LEARNED_NODE + _LEARNED_UNIT * width * layers
            joined = _JOINED * method.alpha * size.nodes_in_step**2 / 2
            if resolved_engine(method, size.nodes) == "sparse":
                each = _LEARNED_NODE_SPARSE
                joined = min(joined, added_limit(method.max_sampled_edges, size.pairs_in_step))
            learned = _COMPILED + each * size.nodes_in_step
            drawn = size.passes * int(joined * edge_bytes(model))
            return RunMemory(plain + learned, plain, drawn)
        case StackConfig():
            first, second = method.parts
            changed = _changed(size, first)
            before, after = (
                run_memory(size, model, first),
                run_memory(changed, model, second),
            )
            # What the first part keeps is there beside the run of the second.
            kept = max(0, before.run - _plain_run(changed, model))
            return RunMemory(
                max(before.run, kept + after.run), max(before.prepare, after.prepare), after.drawn
            )
    return RunMemory(plain, plain)


def _changed(size: GraphSize, method: MethodConfig) -> GraphSize:
    """The size of a graph that a method has changed once, as far as it is known in advance."""
    if not isinstance(method, GAugMConfig):
        return size
    share = 1 + method.add_fraction - method.remove_fraction
    return dataclasses.replace(size, pairs=int(size.pairs * share))


def ranking_memory(size: GraphSize) -> int:
    """Bytes to fit an edge predictor, and to rank all pairs by it."""
    return _COMPILED + _RANKED_ENTRY * size.entries


def _plain_run(size: GraphSize, model: ModelSpec) -> int:
    config = model.config
    width, layers = _hidden_layers(model)
    copies = _KEPT_COPIES_JKNET if isinstance(config, JKNetConfig) else _KEPT_COPIES
    copies *= layers * size.passes
    hidden = 4 * width * (_PASSING_COPIES + copies) * size.nodes_in_step
    hidden += min(_GAPS * hidden, _MOST_GAPS)
    heads = config.heads * layers + 1 if isinstance(config, GATConfig) else 0
    step = hidden + _HEAD_OF_ENTRY * heads * size.entries_in_step * size.passes
    if size.step_nodes is not None:
        share = size.nodes_in_step / max(1, size.nodes)
        stored = (4 if size.dense else _STORED_ENTRY) * size.features * share
        # One batch trains while the next is prepared. Validation is on the whole graph, and what
        # batches of many sizes leave free is in too small pieces for it.
        step += 2 * (stored + _BATCH_ENTRY * size.entries_in_step) + _inference(size, model)
    return int(_laid_out(size, model) + step)


def _inference(size: GraphSize, model: ModelSpec) -> float:
    """A pass over the whole graph without gradients, layer by layer."""
    config = model.config
    width, layers = _hidden_layers(model)
    copies = _INFERENCE_COPIES + (layers if isinstance(config, JKNetConfig) else 0)
    heads = config.heads if isinstance(config, GATConfig) else 0
    return 4 * width * copies * size.nodes + _HEAD_OF_ENTRY * heads * size.entries


def _laid_out(size: GraphSize, model: ModelSpec) -> int:
    """Features and edges, laid out for products."""
    features: float = _FEATURE * size.features
    if size.dense:
        dropped = getattr(model.config, "input_dropout", 0.0) > 0
        features = 4 * (_DROPPED_COPIES if dropped else _DENSE_COPIES) * size.features
    entries = _ENTRY_LAID_OUT * size.entries + _ENTRY_IN_STEP * size.entries_in_step
    if isinstance(model.config, MLPConfig):
        entries = 0
    return int(_FIXED + _NODE * size.nodes + features + entries)


def _hidden_layers(model: ModelSpec) -> tuple[int, int]:
    """Width and number of the hidden layers; nothing is known of a user-defined module."""
    config = model.config
    if not isinstance(config, ModelConfig):
        return 0, 0
    heads = config.heads if isinstance(config, GATConfig) else 1
    layers = config.layers if isinstance(config, JKNetConfig) else config.layers - 1
    return heads * config.hidden, layers
