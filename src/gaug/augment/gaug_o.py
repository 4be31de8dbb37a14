"""GAug-O: learn the edges and the classes together, through a new sampled graph each epoch."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.adjacency import Adjacency
from gaug.augment.edge_distribution import READINGS, EdgeDistribution
from gaug.augment.edge_encoder import EdgeEncoder
from gaug.augment.learned_classifier import LearnedEdgesClassifier
from gaug.augment.learned_edges import LearnedEdges
from gaug.augment.method import Method, Trained
from gaug.augment.sampled_adjacency import (
    LISTED_ARRAYS,
    check_dense_memory,
    check_list_memory,
    check_memory,
)
from gaug.change import random_change
from gaug.classifier.facts import GraphInfo
from gaug.config import Range, Span, setting
from gaug.edge_predictors.evaluation import roc_auc
from gaug.errors import ConfigError, DataError, TrainingError
from gaug.models.choice import ModelChoice
from gaug.models.gat import GATConfig
from gaug.pairs.inner_product import InnerProductScores
from gaug.training.hooks import (
    AugmentedRun,
    MethodConfig,
    Round,
    RoundResult,
    Visible,
)
from gaug.training.loop import OnEpoch

VARIANTS = ("full", "no-sampling", "rounding", "no-edge-loss", "random")
ENGINES = ("blocked", "dense")
# N×N arrays of float32 that half of all pairs take as edges, with the work on them, for models that
# sum over neighbours and for attention with 8 heads.
_SUMMED_ARRAYS = 6
_ATTENDED_ARRAYS = 100
# An AUC up to which a predictor that was taught to tell edges from other pairs has not learned it.
_NEARLY_CHANCE = 0.55


@dataclass(frozen=True)
class GAugOConfig(MethodConfig):
    """Settings of `GAugO`."""

    name: ClassVar[str] = "gaug-o"

    alpha: float = setting(
        0.2,
        "Influence of the edge predictor; 0 is the original graph.",
        within=Range(0, 1),
        search=Span(0, 1, 0.01),
    )
    beta: float = setting(1.0, "Weight of the edge loss.", within=Range(0), search=Span(0, 4, 0.1))
    temperature: float = setting(
        1.0,
        "Temperature of the relaxed sample.",
        within=Range(0, low_open=True),
        search=Span(0.1, 2.1, 0.1),
    )
    pretrain_predictor_epochs: int = setting(
        100,
        "Epochs of the edge predictor alone, before joint training.",
        within=Range(0),
        search=Span(5, 300, 5),
    )
    pretrain_classifier_epochs: int = setting(
        30,
        "Epochs of the classifier alone, before joint training.",
        within=Range(0),
        search=Span(5, 300, 5),
    )
    warmup: float = setting(
        0.0,
        "How steeply the predictor's learning rate rises in joint training; 0: it is full at once.",
        within=Range(0),
        search=Span(0, 10, 1),
    )
    edge_probability: str = setting(
        "max-normalised",
        "How scores of pairs become probabilities: divided by the greatest, or by a sigmoid.",
        choices=READINGS,
    )
    variant: str = setting(
        "full", "full, a part left out (the paper's ablation), or random edges.", choices=VARIANTS
    )
    engine: str = setting(
        "blocked", "blocked: memory of a block; dense: N×N, the reference.", choices=ENGINES
    )
    edge_model: str = setting("gae", "Edge predictor: gae or vgae.", choices=("gae", "vgae"))
    edge_hidden: int = setting(128, "Width of the predictor's hidden layer.", within=Range(1))
    edge_embedding: int = setting(32, "Width of the predictor's embeddings.", within=Range(1))
    edge_learning_rate: float = setting(
        0.01, "Adam's step for the edge predictor.", within=Range(0, low_open=True)
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant == "no-sampling" and self.edge_probability == "sigmoid":
            raise ConfigError(
                "variant=no-sampling takes edge_probability=max-normalised, got 'sigmoid':"
                " its sums over all pairs have no short form."
            )


def check_sample_memory(
    config: GAugOConfig, num_nodes: int, model: ModelChoice | None = None
) -> None:
    """Raise if what these settings hold does not fit for a graph of so many nodes.

    Args:
        config: The settings.
        num_nodes: Number of nodes.
        model: The classifier; by default one that sums over neighbours.
    """
    if config.engine == "dense":
        check_dense_memory(num_nodes)
    if config.alpha == 0 or config.variant == "random":
        return
    of_a_user = model is not None and model.is_users
    if config.edge_probability == "sigmoid":
        arrays = _SUMMED_ARRAYS
        if of_a_user:
            arrays = LISTED_ARRAYS // 2
        elif model is not None and isinstance(model.config, GATConfig):
            arrays = _ATTENDED_ARRAYS
        check_memory(
            arrays,
            num_nodes,
            "edge_probability=sigmoid, which joins about half of all pairs,",
            "Take edge_probability=max-normalised.",
        )
    elif config.variant == "no-sampling" and of_a_user:
        check_list_memory(num_nodes)


class GAugO(Method[GAugOConfig]):
    r"""GAug-O (the paper's section 4.2): train through graphs that the edge predictor samples.

    An edge predictor gives probabilities M, mixed with the graph to
    $P = \alpha M + (1 - \alpha) A$. Each epoch samples a graph from P (see
    `gaug.augment.edge_distribution`), trains the classifier on it, and trains the predictor on
    $L = L_{nc} + \beta L_{ep}$: the classification loss through the sample, and the weighted
    cross-entropy of all pairs (`gaug.edge_predictors.edge_loss`). Both are pretrained alone, and
    optimisers start afresh after that. Inference is on the original graph.

    The gradient of the classification loss reaches every pair, sampled or not, for classifiers
    that sum over neighbours (GCN, GraphSAGE, JK-Net), but for those of a probability of 0 or 1,
    where the relaxed sample is flat; for GAT and modules of users it reaches the
    sampled edges. With ``variant=no-sampling`` every pair is used with its probability as weight,
    by GAT and modules of users too; a list of all pairs for the latter takes memory of N×N.

    With a warm-up of w > 0 the predictor's learning rate goes from 0 to its full value over the
    epochs along the part of a sigmoid from -w to w.

    Differs from the paper: its printed sample, log P plus one Gumbel variable, would give an edge
    with probability $1 - e^{-P}$; here it is P. Its printed M, the sigmoid of inner products,
    joins half of all pairs if embeddings are not negative; by default the inner products are
    divided by the greatest one, and ``edge_probability=sigmoid`` is the printed form, with
    embeddings of any sign; half of all pairs as edges take memory of N×N.

    Arguments are those of every method; see `gaug.augment.method.Method`.
    """

    config_type = GAugOConfig

    def max_epochs(self, training_epochs: int) -> int:
        """Epochs at most: those of the predictor and of the classifier alone, and of both."""
        alone = self.config.pretrain_classifier_epochs
        if self.config.variant != "random":
            alone += self.config.pretrain_predictor_epochs
        return alone + training_epochs

    def prepare(self, visible: Visible, seed: int) -> GAugO:
        """Check that the graph will do; each run trains a predictor of its own."""
        if visible.adjacency.weight is not None:
            raise DataError(
                "GAug-O samples edges that are there or not, but this graph has edge weights."
                " Drop them (--column drop=weight for a file, data.edge_weight = None in Python),"
                " or take --method gaug-m."
            )
        if visible.adjacency.num_pairs == 0:
            raise DataError("GAug-O learns from edges, but this graph has none.")
        check_sample_memory(self.config, visible.adjacency.num_nodes, self.choice)
        return self

    def start(self, visible: Visible, generator: torch.Generator) -> GAugORun:
        """Open one run."""
        return GAugORun(visible, generator, self.config)

    def fit(
        self,
        data: Data,
        *,
        info: GraphInfo | None = None,
        threads: int = 1,
        on_epoch: OnEpoch | None = None,
    ) -> LearnedEdgesClassifier:
        """Train once; the classifier can also be asked about edges. See `Method.fit`."""
        return self._classifier(self._train(data, info or GraphInfo(), threads, on_epoch))

    def _classifier(self, trained: Trained) -> LearnedEdgesClassifier:
        run = trained.result.run
        assert isinstance(run, GAugORun)
        return LearnedEdgesClassifier(trained.fitted(), run.learned_edges())


class GAugORun(AugmentedRun):
    """One run of GAug-O; after training it can be asked for probabilities and graphs.

    Args:
        visible: What the method may see.
        generator: Source of the noise.
        config: The settings.
    """

    rate_setting = "edge_learning_rate"

    def __init__(self, visible: Visible, generator: torch.Generator, config: GAugOConfig) -> None:
        super().__init__(visible, generator)
        self.config = config
        self.learns = config.variant != "random"
        self.beta = 0.0 if config.variant == "no-edge-loss" else config.beta
        self.distribution = EdgeDistribution.of(config.to_dict())
        if config.alpha == 0:
            self.warning = (
                "GAug-O changed no edge: with alpha=0 it samples the original graph. Raise alpha."
            )
        elif config.variant == "rounding" and config.alpha < 0.5:
            self.warning = (
                f"GAug-O changed no edge: with alpha={config.alpha:g} the probabilities of edges"
                " stay above one half, and those of other pairs below. Raise alpha above 0.5, or"
                " take another variant."
            )
        self.encoder = EdgeEncoder.of(config.to_dict(), int(visible.features.shape[1])).to(
            visible.labels.device
        )
        self._z: Tensor | None = None
        self._edge_loss = 0.0
        self._reached = False
        self._best: dict[str, Tensor] | None = None

    def next_round(self, previous: RoundResult | None) -> Round | None:
        """Pretraining, if asked for, then joint training from its weights."""
        if previous is None:
            if self.learns:
                self._pretrain()
            if self.config.pretrain_classifier_epochs:
                return Round(
                    self.visible.adjacency,
                    epochs=self.config.pretrain_classifier_epochs,
                    pretraining=True,
                )
        if previous is None or previous.round.pretraining:
            self.optimiser = self._new_optimiser()
            return Round(self.visible.adjacency, keep_weights=previous is not None)
        return None

    def training_graph(self, current: Round, epoch: int) -> Adjacency:
        """The original graph in pretraining, then a new sample each epoch."""
        self._z = None
        if current.pretraining:
            return current.adjacency
        assert current.epochs is not None, "the loop settles the number of epochs"
        rate = warmed_up(epoch, current.epochs, self.config.warmup)
        for group in self.optimiser.param_groups:
            group["lr"] = rate * self.config.edge_learning_rate
        if not self.learns:
            return self._sample(self._by_chance())
        self.encoder.train()
        self._z = self._embed()
        # A tensor of its own, which the edge loss does not touch.
        prepared = self.distribution.prepare(self._z).view_as(self._z)
        prepared.register_hook(self._note_gradient)  # type: ignore[no-untyped-call]
        return self._sample(prepared)

    def extra_loss(self) -> Tensor | None:
        """The edge loss, weighted."""
        if self._z is None:
            return None
        if not bool(torch.isfinite(self._z).all()):
            # The sample would not show it: no comparison with NaN holds, and no pair is joined.
            return self._z.new_tensor(math.nan)
        if self.beta == 0:
            return None
        loss = self.encoder.loss(self._z, self.visible.adjacency)
        self._edge_loss = loss.item()
        return self.beta * loss

    def after_step(self) -> None:
        """The step of the edge predictor."""
        if self._z is not None:
            self.optimiser.step()
            self.optimiser.zero_grad()

    def on_best(self) -> None:
        """Keep the predictor of the best epoch, unless it is broken: validation does not see it."""
        state = self.encoder.state_dict()
        if all(bool(torch.isfinite(weight).all()) for weight in state.values()):
            self._best = copy.deepcopy(state)

    def combine(self, results: Sequence[RoundResult]) -> Tensor:
        """Class probabilities of joint training; the predictor goes back to its best epoch."""
        self._z = None
        if self._best is not None:
            self.encoder.load_state_dict(self._best)
        self.warning = self.warning or self._flaw()
        return super().combine(results)

    def log(self) -> dict[str, float]:
        """The edge loss where it counts, the edge AUC, and the predictor's learning rate."""
        if self._z is None:
            return {}
        row = {"edge_learning_rate": self.optimiser.param_groups[0]["lr"]}
        if self.beta > 0:
            row["edge_loss"] = self._edge_loss
        auc = self._auc(self._z)
        if auc is not None:
            row["edge_auc"] = auc
        return row

    def edge_probabilities(self, pairs: Tensor) -> Tensor:
        """P of pairs of nodes, which a sample joins with that probability.  [2, n] → [n]"""
        return self.learned_edges().probabilities(pairs)

    def sample_graph(self) -> Data:
        """A new graph from the probabilities: its edges, without features and labels.

        With ``variant=no-sampling`` it has all pairs, with their probabilities as ``edge_weight``.
        """
        return self.learned_edges().sample_graph(self._next_seed())

    @torch.no_grad()
    def learned_edges(self) -> LearnedEdges:
        """What the predictor has learned about the edges, as it is now."""
        return self._learned(self._prepared())

    @functools.cached_property
    def _judged(self) -> tuple[Tensor, Tensor]:
        """All edges, and as many other pairs by chance, if there are so many.  [2, E], [2, E]"""
        adjacency = self.visible.adjacency.to("cpu")
        pairs = adjacency.num_nodes * (adjacency.num_nodes - 1) // 2
        count = min(adjacency.num_pairs, pairs - adjacency.num_pairs)
        generator = torch.Generator().manual_seed(0)
        others = random_change(adjacency.to_data(), count, 0, generator).added
        return adjacency.pairs, others

    def _auc(self, z: Tensor) -> float | None:
        """How often an edge outscores a pair that is none; None where there is no such pair."""
        edges, others = self._judged
        if others.size(1) == 0:
            return None
        scores = InnerProductScores(z.detach().cpu())
        return roc_auc(scores.edge_logits(edges), scores.edge_logits(others))

    def _flaw(self) -> str | None:
        """What is wrong with what the predictor has learned."""
        if not self.learns:
            return None
        prepared = self._prepared()
        if not bool(torch.isfinite(prepared).all()):
            return (
                "GAug-O's edge predictor is broken: it gives probabilities that are not numbers."
                " Try a lower edge_learning_rate."
            )
        auc = self._auc(prepared)
        blind = self.beta > 0 and auc is not None and auc < _NEARLY_CHANCE
        if blind or not bool(prepared.any()):
            return (
                "GAug-O's edge predictor has learned nothing: it tells edges from other pairs no"
                f" better than chance{'' if auc is None else f' (AUC {auc:.2f})'}. Try"
                " feature_scaling=columns, or a lower edge_learning_rate."
            )
        if not self._reached:
            return (
                "The classification loss did not reach GAug-O's edge predictor: the model does not"
                " use edge_weight. Multiply messages by it, as GraphConv does and SAGEConv does"
                " not."
            )
        return None

    def _note_gradient(self, _: Tensor) -> None:
        self._reached = True

    def _embed(self) -> Tensor:
        z: Tensor = self.encoder(self.visible.features, self.visible.adjacency, self.generator)
        return z

    def _prepared(self) -> Tensor:
        """Embeddings of the predictor as it is, without what is random in training."""
        if not self.learns:
            return self._by_chance()
        self.encoder.eval()
        return self.distribution.prepare(self._embed())

    def _by_chance(self) -> Tensor:
        """Embeddings by which every pair is as likely as an edge is in this graph.  [N, 1]"""
        adjacency = self.visible.adjacency
        num_nodes = adjacency.num_nodes
        share = adjacency.num_pairs / (num_nodes * (num_nodes - 1) / 2)
        return torch.full((num_nodes, 1), share**0.5, device=adjacency.pattern.col.device)

    def _sample(self, prepared: Tensor) -> Adjacency:
        # Where every pair is weighed there is nothing to draw.
        seed = 0 if self.config.variant == "no-sampling" else self._next_seed()
        return self._learned(prepared).sample(seed)

    def _learned(self, prepared: Tensor) -> LearnedEdges:
        return LearnedEdges.of(self.config.to_dict(), prepared, self.visible.adjacency)

    def _next_seed(self) -> int:
        return int(torch.randint(2**62, (1,), generator=self.generator))

    def _new_optimiser(self) -> torch.optim.Adam:
        weights = [weight for weight in self.encoder.parameters() if weight.requires_grad]
        return torch.optim.Adam(weights, lr=self.config.edge_learning_rate, fused=True)

    def _pretrain(self) -> None:
        optimiser = self._new_optimiser()
        self.encoder.train()
        for epoch in range(1, self.config.pretrain_predictor_epochs + 1):
            loss = self.encoder.loss(self._embed(), self.visible.adjacency)
            if not bool(torch.isfinite(loss)):
                raise TrainingError(
                    f"The edge predictor's loss became {loss.item()} in epoch {epoch} of its"
                    " pretraining. Try a lower edge_learning_rate."
                )
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            optimiser.zero_grad()  # joint training starts without a gradient of pretraining
            self.tell_epoch()


def warmed_up(epoch: int, num_epochs: int, warmup: float) -> float:
    """The share of the full learning rate in an epoch, counted from 1.

    >>> [round(warmed_up(epoch, 5, warmup=4.0), 2) for epoch in range(1, 6)]
    [0.0, 0.1, 0.5, 0.9, 1.0]
    >>> warmed_up(1, 5, warmup=0.0)
    1.0
    """
    if warmup == 0 or num_epochs == 1:
        return 1.0
    place = 2 * (epoch - 1) / (num_epochs - 1) - 1  # from -1 to 1
    # A sigmoid is a hyperbolic tangent of half the argument, which neither overflows nor cancels;
    # a smaller half would be as straight a line.
    half = max(warmup / 2, 1e-9)
    return (1 + math.tanh(half * place) / math.tanh(half)) / 2
