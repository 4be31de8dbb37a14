"""The memory of a run, estimated in advance from the sizes of its graph and its settings.

An estimate is what a run takes at its peak beyond what the process holds when the graph has been
placed. The constants are fitted to measured peaks (``python -m benchmarks.memory``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gaug.edge_predictors.config import GAEConfig, PredictorConfig, VGAEConfig
from gaug.graph.attention import HEADS_TOGETHER
from gaug.methods.adaedge.config import AdaEdgeConfig
from gaug.methods.bgcn.config import BGCNConfig
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.methods.gaug_o.config import GAugOConfig, resolved_engine
from gaug.methods.gaug_o.memory import edge_bytes
from gaug.methods.gaug_o.sampling_cap import added_limit
from gaug.methods.stack.config import StackConfig
from gaug.models.config import GATConfig, JKNetConfig, MLPConfig, ModelConfig
from gaug.models.spec import ModelSpec
from gaug.training.config import MethodConfig
from gaug.training.graph_size import GraphSize

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
_TAUGHT_COPIES = 8.0  # of the class scores, for the distance of a student from its teacher
_LOGIT_COPIES = 3.0  # of the class scores, likewise, and of the class probabilities
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
_LEARNED_NODE = 3500  # the predictor, and embeddings of this width with their gradients
_LEARNED_NODE_SPARSE = 2500
_LEARNED_WIDTH = 32
_PREDICTOR_COPIES = 6.0  # of an auto-encoder's layers, beyond these widths
_PREDICTOR_HIDDEN, _PREDICTOR_EMBEDDING = 32, 16
_LEARNED_UNIT = 15  # per node and unit of the model's layers: the gradient of all pairs
# Share of the pairs that a predictor at its start would join, at alpha = 1.
_JOINED = 0.15


@dataclass(frozen=True)
class RunMemory:
    """Bytes that a run takes beyond its placed graph.

    Attributes:
        run: While it trains.
        prepare: While the method prepares what all runs share.
        drawn: Graphs that the method draws, as far as they are known in advance.
        certain: Whether they are, because a limit is reached. If not, the method checks each graph
            before it draws it, and a run is not refused for them.
    """

    run: int
    prepare: int = 0
    drawn: int = 0
    certain: bool = False

    @property
    def least(self) -> int:
        """What is needed in any case."""
        return self.peak if self.certain else max(self.run, self.prepare)

    @property
    def peak(self) -> int:
        """The estimated peak in one process."""
        return max(self.run + self.drawn, self.prepare)


def run_memory(
    size: GraphSize,
    model: ModelSpec,
    method: MethodConfig,
    predictors: Mapping[str, PredictorConfig] | None = None,
) -> RunMemory:
    """The memory of a run; a lower bound for user-defined models and methods.

    Args:
        size: The size of the graph.
        model: The model.
        method: Settings of the method.
        predictors: Settings of its edge predictors by name.
    """
    plain = _plain_run(size, model)
    drawn_batch = _DRAWN_ENTRY * size.entries_in_step * size.passes
    drawn_graph = _DRAWN_ENTRY * size.entries
    match method:
        case DropEdgeConfig():
            layers = getattr(model.config, "layers", 1) if method.layer_wise else 1
            return RunMemory(plain + layers * drawn_batch, plain)
        case AdaEdgeConfig():
            return RunMemory(plain + drawn_graph, plain)
        case BGCNConfig():
            return RunMemory(plain + 3 * drawn_graph, plain)
        case GAugMConfig():
            changed = _changed(size, method)
            kept = _COMPILED + _MENDED_ENTRY * size.entries
            ranked = ranking_memory(size, predictors)
            again = ranked if method.rounds > 1 else 0
            ranking = _laid_out(size, model) + ranked
            return RunMemory(_plain_run(changed, model) + kept + again, ranking)
        case GAugOConfig():
            width, layers = _hidden_layers(model)
            each = _LEARNED_NODE + _LEARNED_UNIT * width * layers
            joined = _JOINED * method.alpha * size.nodes_in_step**2 / 2
            capped = False
            if resolved_engine(method, size.nodes) == "sparse":
                each = _LEARNED_NODE_SPARSE
                limit = added_limit(method.max_sampled_edges, size.pairs_in_step)
                joined, capped = min(joined, limit), joined >= limit
            embedded = method.edge_embedding * (2 if method.edge_model == "vgae" else 1)
            each = int(each * max(1.0, embedded / _LEARNED_WIDTH))
            learned = _COMPILED + each * size.nodes_in_step
            drawn = size.passes * int(joined * edge_bytes(model))
            return RunMemory(plain + learned, plain, drawn, capped)
        case StackConfig():
            first, second = method.parts
            changed = _changed(size, first)
            before = run_memory(size, model, first, predictors)
            after = run_memory(changed, model, second, predictors)
            # What the first part keeps is there beside the run of the second.
            kept = max(0, before.run - _plain_run(changed, model))
            return RunMemory(
                max(before.run, kept + after.run),
                max(before.prepare, after.prepare),
                after.drawn,
                after.certain,
            )
    return RunMemory(plain, plain)


def _changed(size: GraphSize, method: MethodConfig) -> GraphSize:
    """The size of a graph that a method has changed once, as far as it is known in advance."""
    if not isinstance(method, GAugMConfig):
        return size
    return size.grown(1 + method.add_fraction - method.remove_fraction)


def ranking_memory(size: GraphSize, predictors: Mapping[str, PredictorConfig] | None = None) -> int:
    """Bytes to fit edge predictors, and to rank all pairs by them.

    Args:
        size: The size of the graph.
        predictors: Settings of the predictors by name.
    """
    width = 0
    for config in (predictors or {}).values():
        if isinstance(config, GAEConfig):
            embeddings = 2 if isinstance(config, VGAEConfig) else 1
            width = max(
                width,
                config.predictor_hidden
                + embeddings * config.embedding
                - (_PREDICTOR_HIDDEN + _PREDICTOR_EMBEDDING),
            )
    wider = 4 * _PREDICTOR_COPIES * width * size.nodes
    return int(_COMPILED + _RANKED_ENTRY * size.entries + wider)


def _plain_run(size: GraphSize, model: ModelSpec) -> int:
    config = model.config
    width, layers = _hidden_layers(model)
    copies = _KEPT_COPIES_JKNET if isinstance(config, JKNetConfig) else _KEPT_COPIES
    copies *= layers * size.passes
    hidden = 4 * width * (_PASSING_COPIES + copies) * size.nodes_in_step
    hidden += 4 * size.classes * _LOGIT_COPIES * (size.passes * size.nodes_in_step + size.nodes)
    if size.taught:
        learned = _TAUGHT_COPIES * size.passes * size.nodes_in_step + size.nodes
        hidden += 4 * size.classes * learned
    hidden += min(_GAPS * hidden, _MOST_GAPS)
    heads = config.heads * layers + 1 if isinstance(config, GATConfig) else 0
    step = hidden + _HEAD_OF_ENTRY * heads * size.entries_in_step * size.passes
    if size.step_nodes is not None:
        share = size.nodes_in_step / max(1, size.nodes)
        stored = (4 if size.dense else _STORED_ENTRY) * size.features * share
        # One batch trains while the next is prepared. Validation is on the whole graph, and comes
        # when the batches of its epoch are gone.
        step += 2 * (stored + _BATCH_ENTRY * size.entries_in_step)
        step = max(step, _inference(size, model)) + _COMPILED
    return int(_laid_out(size, model) + step)


def _inference(size: GraphSize, model: ModelSpec) -> float:
    """A pass over the whole graph without gradients, layer by layer."""
    config = model.config
    width, layers = _hidden_layers(model)
    # All layers of a JK-Net, and the same side by side.
    copies = _INFERENCE_COPIES + (2 * layers if isinstance(config, JKNetConfig) else 0)
    heads = config.heads if isinstance(config, GATConfig) else 0
    if heads * size.entries > HEADS_TOGETHER:
        heads = 1  # one after the other
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
