"""Methods and settings that are worth trying on a new graph."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields

from gaug.choosing.engine import Proposer
from gaug.choosing.trial import Trial
from gaug.edge_predictors.config import GAEConfig
from gaug.graph.matrices import to_scipy_features
from gaug.graph.sparse import SparseMatrix
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.none.config import NoAugmentationConfig
from gaug.models.base import Features
from gaug.runs.plan import Plan
from gaug.training.config import MethodConfig, TrainingConfig
from gaug.training.task import Task

# Faster than most machines, so that only hopeless candidates are skipped in advance.
_PAIRS_PER_SECOND = 1e8


@dataclass(frozen=True)
class Candidate:
    """A method with settings.

    Attributes:
        config: Settings of the method, which also identify it.
    """

    config: MethodConfig

    @property
    def changed(self) -> list[str]:
        """The predictor and the non-default settings, as ``name=value``."""
        plain = type(self.config)()
        return [
            f"{one.name}={getattr(self.config, one.name)}"
            for one in fields(self.config)
            if one.name == "predictor" or getattr(self.config, one.name) != getattr(plain, one.name)
        ]

    def trial(self, plan: Plan) -> Trial:
        """The plan with this candidate, as a trial."""
        settings = self.config.to_dict()
        return Trial(str(self), plan.with_method(self.config), settings)

    def least_seconds(self, num_nodes: int, training: TrainingConfig) -> float:
        """Lower bound of the time of a trial, from the number of node pairs it processes."""
        pairs = num_nodes * (num_nodes - 1) / 2
        return self._passes(training) * pairs / _PAIRS_PER_SECOND

    def _passes(self, training: TrainingConfig) -> int:
        """Minimum number of passes over all pairs of nodes, in the first run."""
        match self.config:
            case GAugMConfig():
                uses_gae = "gae" in self.config.predictor_configs()
                return GAEConfig().predictor_epochs if uses_gae else 1
            case GAugOConfig():
                # With patience, there may be as few epochs as this.
                joint = min(training.epochs, training.patience or training.epochs)
                return self.config.pretrain_predictor_epochs + joint
        return 0

    def __str__(self) -> str:
        return " ".join([self.config.name, *self.changed])


def _mended(predictor: str, add_fraction: float, remove_fraction: float) -> Candidate:
    return Candidate(
        GAugMConfig(
            predictor=predictor,
            add_fraction=add_fraction,
            remove_fraction=remove_fraction,
            allocation="per-node",
        )
    )


NONE = Candidate(NoAugmentationConfig())
# Fractions chosen on validation nodes of BlogCatalog, Citeseer and Air-USA; see
# docs/results_gaug_m.md.
FEATURES = _mended("features", 0.5, 0.3)
SMOOTHED = _mended("smoothed", 0.5, 0.0)
STRUCTURE = _mended("structure", 1.0, 0.5)
# Round numbers, not tuned.
GAE = _mended("gae", 0.3, 0.0)
DROPEDGE = Candidate(DropEdgeConfig())
GAUG_O = Candidate(GAugOConfig())

#: Candidates after no augmentation, in this order: cheap and promising ones first.
CANDIDATES = (FEATURES, SMOOTHED, STRUCTURE, DROPEDGE, GAE, GAUG_O)


class CandidateList(Proposer):
    """Proposes candidates one after the other while there is time.

    Args:
        plan: Everything but the method.
        task: Its graph.
        candidates: Candidates in order.
        deadline: When to stop, in terms of `time.monotonic`.
    """

    def __init__(
        self,
        plan: Plan,
        task: Task,
        candidates: Sequence[Candidate] = CANDIDATES,
        deadline: float = math.inf,
    ) -> None:
        self.plan = plan
        self.num_nodes = task.adjacency.num_nodes
        self.deadline = deadline
        self._left_out: list[Trial] = []
        self._waiting: deque[Candidate] = deque()
        for candidate in candidates:
            reason = unsuitable(candidate, task)
            if reason is None:
                self._waiting.append(candidate)
            else:
                self._left_out.append(self._failed(candidate, reason))

    def __len__(self) -> int:
        return len(self._waiting)

    def propose(self) -> list[Trial]:
        """The next candidate that there is time for."""
        while self._waiting:
            candidate = self._waiting.popleft()
            left = self.deadline - time.monotonic()
            if left > candidate.least_seconds(self.num_nodes, self.plan.training):
                return [candidate.trial(self.plan)]
            reason = "it would take longer than the time left" if left > 0 else "no time was left"
            self._left_out.append(self._failed(candidate, reason))
        return []

    @property
    def left_out(self) -> list[Trial]:
        """Candidates that were not proposed, with the reason."""
        waiting = [self._failed(candidate, "no time was left") for candidate in self._waiting]
        return [*self._left_out, *waiting]

    def _failed(self, candidate: Candidate, reason: str) -> Trial:
        return dataclasses.replace(candidate.trial(self.plan), failure=reason)


def unsuitable(candidate: Candidate, task: Task) -> str | None:
    """Why a candidate does not apply to a graph, as part of a sentence; None if it does."""
    if candidate is FEATURES and not compares_nodes(task.features):
        return "no two nodes have a feature in common, or all have the same ones"
    if candidate is GAUG_O and task.adjacency.weight is not None:
        return "GAug-O does not support edge weights"
    return None


def compares_nodes(features: Features) -> bool:
    """Whether features make some nodes more similar than others; one-hot ids do not.

    This needs a feature that is non-zero for at least two nodes and not the same for all.
    """
    if isinstance(features, SparseMatrix):
        matrix = to_scipy_features(features.to_torch().cpu())
        shared = matrix.getnnz(axis=0) > 1
        varied = matrix.max(axis=0).toarray() != matrix.min(axis=0).toarray()
        return bool((shared & varied.ravel()).any())
    shared_densely = (features != 0).sum(dim=0) > 1
    return bool((shared_densely & (features.amax(dim=0) != features.amin(dim=0))).any())
