"""The methods that are worth a try on a graph that nobody has tuned for, with their settings."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from gaug.edge_predictors.config import GAEConfig, PredictorConfig
from gaug.graph.matrices import to_scipy_features
from gaug.graph.sparse import SparseMatrix
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.none.config import NoAugmentationConfig
from gaug.models.base import Features
from gaug.training.config import MethodConfig, TrainingConfig
from gaug.training.task import Task


@dataclass(frozen=True)
class Candidate:
    """A method with settings.

    Attributes:
        config: Settings of the method, which also say which one.
    """

    config: MethodConfig

    @property
    def parts(self) -> dict[str, PredictorConfig]:
        """Settings of its edge predictors, by name."""
        return self.config.predictor_configs()

    @property
    def changed(self) -> list[str]:
        """The predictor and the settings that are not the default, as ``name=value``."""
        plain = type(self.config)()
        return [
            f"{one.name}={getattr(self.config, one.name)}"
            for one in fields(self.config)
            if one.name == "predictor" or getattr(self.config, one.name) != getattr(plain, one.name)
        ]

    @property
    def options(self) -> str:
        """How to ask for it on the command line."""
        settings = "".join(f" --set {assignment}" for assignment in self.changed)
        return f"--method {self.config.name}{settings}"

    def passes(self, training: TrainingConfig) -> int:
        """How often it looks at all pairs of nodes, in the first run at least."""
        match self.config:
            case GAugMConfig():
                return GAEConfig().predictor_epochs if "gae" in self.parts else 1
            case GAugOConfig():
                # With patience the epochs may be as few as these.
                joint = min(training.epochs, training.patience or training.epochs)
                return self.config.pretrain_predictor_epochs + joint
        return 0

    def __str__(self) -> str:
        return " ".join([self.config.name, *self.changed])


@dataclass(frozen=True)
class Omission:
    """A candidate that was not tried to the end, and why, as the rest of a sentence."""

    candidate: Candidate
    reason: str


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
# Fractions that validation nodes of BlogCatalog, Citeseer and Air-USA chose, see
# docs/results_gaug_m.md.
FEATURES = _mended("features", 0.5, 0.3)
SMOOTHED = _mended("smoothed", 0.5, 0.0)
STRUCTURE = _mended("structure", 1.0, 0.5)
# Round numbers, not tuned.
GAE = _mended("gae", 0.3, 0.0)
DROPEDGE = Candidate(DropEdgeConfig())
GAUG_O = Candidate(GAugOConfig())

#: What is tried, in this order: the plain model, then the cheap and promising before the dear.
CANDIDATES = (NONE, FEATURES, SMOOTHED, STRUCTURE, DROPEDGE, GAE, GAUG_O)


@dataclass(frozen=True)
class Applicable:
    """The candidates for a graph, and those that have no meaning on it."""

    candidates: list[Candidate] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)


def applicable(task: Task) -> Applicable:
    """Which candidates apply to a graph."""
    found = Applicable()
    for candidate in CANDIDATES:
        reason = None
        if candidate is FEATURES and not compares_nodes(task.features):
            reason = "no two nodes have a feature in common, or all have the same ones"
        if candidate is GAUG_O and task.adjacency.weight is not None:
            reason = "GAug-O samples edges that are there or not, and these have weights"
        if reason is None:
            found.candidates.append(candidate)
        else:
            found.omissions.append(Omission(candidate, reason))
    return found


def compares_nodes(features: Features) -> bool:
    """Whether features make some nodes more alike than others; a one-hot id of each does not.

    It takes one that is not zero at two nodes at least and not the same at all.
    """
    if isinstance(features, SparseMatrix):
        matrix = to_scipy_features(features.to_torch().cpu())
        shared = matrix.getnnz(axis=0) > 1
        varied = matrix.max(axis=0).toarray() != matrix.min(axis=0).toarray()
        return bool((shared & varied.ravel()).any())
    shared_densely = (features != 0).sum(dim=0) > 1
    return bool((shared_densely & (features.amax(dim=0) != features.amin(dim=0))).any())
