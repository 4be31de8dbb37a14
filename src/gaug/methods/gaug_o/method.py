"""GAug-O as a method: what it is, which graphs it accepts, and its fitted classifier."""

from __future__ import annotations

import torch

from gaug.errors import DataError
from gaug.methods.gaug_o.classifier import LearnedEdgesClassifier
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.gaug_o.memory import check_settings, edge_bytes
from gaug.methods.gaug_o.run import GAugORun
from gaug.methods.method import Method
from gaug.methods.trained import Trained
from gaug.pairs.ranking import OnShare
from gaug.training.hooks import Visible


class GAugO(Method[GAugOConfig, LearnedEdgesClassifier]):
    r"""GAug-O (the paper's section 4.2): train on graphs sampled by the edge predictor.

    An edge predictor gives probabilities M, which are mixed with the graph to
    $P = \alpha M + (1 - \alpha) A$. Each epoch samples a graph from P (see
    `gaug.methods.gaug_o.edge_distribution`), trains the classifier on it, and trains the
    predictor on $L = L_{nc} + \beta L_{ep}$: the classification loss through the sample, and the
    weighted cross-entropy of all pairs (`gaug.edge_predictors.edge_loss`). Both are pretrained
    separately, and then the optimizers are reset. Inference is on the original graph.

    With classifiers that sum over neighbors (GCN, GraphSAGE, JK-Net), the gradient of the
    classification loss reaches every pair, sampled or not, except those with a probability of 0 or
    1, where the relaxed sample is flat. With GAT and user-defined modules it reaches the sampled
    edges. With ``variant=no-sampling``, every pair is used with its probability as weight, also by
    GAT and user-defined modules; the latter get a list of all pairs, which takes N×N memory.

    With a warm-up of w > 0, the predictor's learning rate rises from 0 to its full value over the
    epochs, along the part of a sigmoid from -w to w.

    Differs from the paper: its printed sample, log P plus one Gumbel variable, would give an edge
    with probability $1 - e^{-P}$; here it is P. Its printed M, the sigmoid of inner products,
    joins half of all pairs if embeddings are not negative. By default the inner products are
    divided by the largest one. ``edge_probability=sigmoid`` is the printed form, with embeddings of
    any sign; half of all pairs as edges take N×N memory.

    Arguments are those of every method; see `gaug.methods.method.Method`.
    """

    config_type = GAugOConfig
    classifier_type = LearnedEdgesClassifier

    def max_epochs(self, training_epochs: int) -> int:
        """Maximum epochs: those of the predictor alone, of the classifier alone, and of both."""
        alone = self.config.pretrain_classifier_epochs
        if self.config.variant != "random":
            alone += self.config.pretrain_predictor_epochs
        return alone + training_epochs

    def prepare(self, visible: Visible, seed: int, *, on_share: OnShare | None = None) -> GAugO:
        """Check the graph; each run trains its own predictor."""
        if visible.adjacency.weight is not None:
            raise DataError(
                "GAug-O samples edges that are there or not, but this graph has edge weights."
                " Leave them out (data.edge_weight = None), or use GAug-M.",
                topic="edge-weights",
            )
        if visible.adjacency.num_pairs == 0:
            raise DataError("GAug-O learns from edges, but this graph has none.")
        check_settings(self.config, visible.adjacency.num_nodes, self.model)
        return self

    def start(self, visible: Visible, generator: torch.Generator) -> GAugORun:
        """Open one run."""
        return GAugORun(visible, generator, self.config, edge_bytes(self.model))

    def _classifier(self, trained: Trained) -> LearnedEdgesClassifier:
        run = trained.result.run
        assert isinstance(run, GAugORun)
        return LearnedEdgesClassifier(trained.fitted(), run.learned_edges())
