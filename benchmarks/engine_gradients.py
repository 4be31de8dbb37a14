"""The gradients of GAug-O's engines: do their means agree, and how much do they vary?

A trained predictor and a trained classifier are held fixed, and a graph is drawn again and again.
The gradient is that of the classification loss with respect to the predictor's weights, without
dropout. ``blocked`` has the exact gradient of a draw and its noise. ``sparse`` averages over the
noise and estimates what pairs that were not drawn contribute, from random columns: uniform ones,
or, for this comparison only, columns in proportion to M.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gaug import GCN, GAugO, GAugOConfig
from gaug.methods.gaug_o.drawn_pairs import DrawnPairs, edge_products
from gaug.methods.gaug_o.edge_distribution import EdgeDistribution
from gaug.methods.gaug_o.edge_encoder import EdgeEncoder
from gaug.methods.gaug_o.edge_sampling import ListedSample, sample_blocked
from gaug.methods.gaug_o.run import GAugORun
from gaug.models.config import ModuleConfig
from gaug.pairs.mean_slope import MeanSlopes
from gaug.pairs.random_columns import BAND
from gaug.training.config import TrainingConfig
from gaug.training.loop import train_run
from gaug.training.loss import classification_loss
from gaug.training.task import Task

_PERMUTATIONS = 10_000
#: The random columns that are compared: their number, and whether they are in proportion to M.
COLUMNS = {
    "uniform 32": (32, False),
    "uniform 128": (128, False),
    "by M 32": (32, True),
    "by M 128": (128, True),
}


@dataclass(frozen=True)
class Trained:
    """A predictor and a classifier after pretraining and one epoch of joint training.

    Attributes:
        task: The graph.
        distribution: What graphs are drawn from.
        encoder: The predictor.
        classifier: The classifier.
    """

    task: Task
    distribution: EdgeDistribution
    encoder: EdgeEncoder
    classifier: nn.Module

    @classmethod
    def of(cls, task: Task, config: GAugOConfig) -> Trained:
        """Train with the settings, one epoch of joint training."""

        def build() -> GCN:
            return GCN(task.in_features, task.num_classes)

        method = GAugO(config).prepare(task.visible(), 0)
        settings = ModuleConfig(0.01, 5e-4), TrainingConfig(epochs=1)
        result = train_run(task, build, method, *settings, 0)
        assert isinstance(result.run, GAugORun)
        classifier = build().eval()
        classifier.load_state_dict(dict(result.rounds[-1].weights))
        distribution = EdgeDistribution.of(config)
        return cls(task, distribution, result.run.encoder.eval(), classifier)

    def prepared(self) -> Tensor:
        """Prepared embeddings, differentiable in the predictor's weights.  [N, d]"""
        embedding = self.encoder(self.task.features, self.task.adjacency)
        return self.distribution.prepare(embedding.z)

    def gradient(self, draw: Callable[[Tensor], ListedSample]) -> Tensor:
        """The gradient of the predictor's weights for a draw.  [w]"""
        task = self.task
        logits = self.classifier(task.features, draw(self.prepared()))
        loss = classification_loss(logits[task.train], task.labels[task.train])
        grads = torch.autograd.grad(loss, list(self.encoder.parameters()))
        return torch.cat([grad.flatten() for grad in grads])


class ColumnsByScore(DrawnPairs):
    """Random columns in proportion to the scores of a band's rows, M, in the place of uniform ones.

    With weights of one over their probabilities the estimate is without bias, too: where M is 0,
    there is no gradient. Systematic sampling: a column is drawn as often as is expected, but for
    rounding.
    """

    def _add_others(
        self, total: Tensor, z: Tensor, grad: Tensor, value: Tensor, slopes: MeanSlopes
    ) -> None:
        generator = torch.Generator().manual_seed(self.seed)
        for first in range(0, z.size(0), BAND):
            rows = torch.arange(first, min(first + BAND, z.size(0)))
            share = (z @ z[rows].sum(dim=0)).double()
            below = share.cumsum(0)
            if below[-1] == 0:
                continue
            order = torch.rand(1, generator=generator, dtype=torch.float64)
            spots = (torch.arange(self.columns) + order) / self.columns * below[-1]
            cols = torch.searchsorted(below, spots).clamp(max=z.size(0) - 1)
            weight = (below[-1] / (self.columns * share[cols])).to(z.dtype)
            ends, p = z[cols], z[rows] @ z[cols].t() * self.rate
            slope = grad[rows] @ value[cols].t() + value[rows] @ grad[cols].t()
            slopes.multiply_undrawn(slope, p)
            left_out = torch.zeros(rows.numel(), z.size(0), dtype=torch.bool)
            left_out[rows - first, rows] = True
            of_rows = slice(*self.listed.crow[[first, int(rows[-1]) + 1]].tolist())
            left_out[self.listed.row[of_rows] - first, self.listed.col[of_rows]] = True
            slope = torch.where(left_out[:, cols], 0.0, slope * weight)
            total[rows] += self.rate * (slope @ ends)


def compare_gradients(trained: Trained, draws: int) -> dict[str, float]:
    """Means and standard deviations of the gradients of both engines over so many draws each.

    Returns:
        ``distance``: Between the means of ``blocked`` and of ``sparse`` with 128 columns, in terms
        of its standard error, about 1 if they agree; ``p``: how often a distance as large comes of
        chance; ``error``: that standard error in terms of the mean. Then standard deviations in
        terms of that of ``blocked``, root mean squares over all weights: with ``all`` columns, with
        those of `COLUMNS`, and what the choice of columns alone adds for the same draw.
    """
    blocked, whole, sparse = [], [], []
    squares = dict.fromkeys(COLUMNS, 0.0)
    for seed in range(draws):
        blocked.append(trained.gradient(functools.partial(_blocked, trained, draws + seed)))
        everything = (trained.task.adjacency.num_nodes, False)
        whole.append(trained.gradient(functools.partial(_sparse, trained, seed, everything)))
        for name, columns in COLUMNS.items():
            grad = trained.gradient(functools.partial(_sparse, trained, seed, columns))
            squares[name] += float((grad - whole[-1]).double().square().sum()) / draws
            if name == "uniform 128":
                sparse.append(grad)
    ours, theirs = torch.stack(sparse), torch.stack(blocked)
    del blocked, sparse
    error = math.sqrt((_variance(ours) + _variance(theirs)) / draws)
    difference = ours.mean(dim=0) - theirs.mean(dim=0)
    found = {
        "distance": float(difference.norm()) / error,
        "p": _permutation_p(torch.cat([ours, theirs])),
        "error": error / float(theirs.mean(dim=0).norm()),
    }
    unit, exact = _variance(theirs), _variance(torch.stack(whole))
    found["all"] = math.sqrt(exact / unit)
    for name, square in squares.items():
        found[name] = math.sqrt((exact + square) / unit)
        found[f"{name} alone"] = math.sqrt(square / unit)
    return found


def _variance(grads: Tensor) -> float:
    """The sum of the variances of all weights.  [draws, w]"""
    return float(grads.var(dim=0).double().sum())


def _permutation_p(grads: Tensor) -> float:
    """How often halves at random have means as far apart as the first and the second half."""
    grads = grads - grads.mean(dim=0)
    products = (grads @ grads.t()).double()
    sign = torch.ones(grads.size(0), dtype=torch.float64)
    sign[: grads.size(0) // 2] = -1
    generator = torch.Generator().manual_seed(0)
    shuffled = torch.rand(_PERMUTATIONS, sign.numel(), generator=generator).argsort(dim=1)
    signs = sign[shuffled]
    distances = ((signs @ products) * signs).sum(dim=1)
    return float((distances >= sign @ products @ sign).double().mean())


def _blocked(trained: Trained, seed: int, z: Tensor) -> ListedSample:
    return sample_blocked(z, trained.task.adjacency, trained.distribution, seed)


def _sparse(trained: Trained, seed: int, columns: tuple[int, bool], z: Tensor) -> ListedSample:
    number, by_score = columns
    adjacency, distribution = trained.task.adjacency, trained.distribution
    kind = ColumnsByScore if by_score else DrawnPairs
    products = edge_products(z, adjacency)
    pairs = kind(z.detach(), adjacency, distribution, seed, 1.0, number, products)
    return ListedSample(z, pairs.sample(), pairs)
