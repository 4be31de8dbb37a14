"""Methods and settings that are worth trying on a new graph."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from gaug.choosing.trial import Trial
from gaug.edge_predictors.autoencoder import EXACT_UP_TO
from gaug.edge_predictors.config import GAEConfig
from gaug.graph.matrices import to_scipy_features
from gaug.graph.sparse import SparseMatrix
from gaug.methods.adaedge.config import AdaEdgeConfig
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.methods.gaug_m.config import GAugMConfig
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.none.config import NoAugmentationConfig
from gaug.methods.stack.config import StackConfig, stack_config
from gaug.models.base import Features
from gaug.runs.plan import Plan
from gaug.training.config import MethodConfig, TrainingConfig
from gaug.training.task import Task

# Faster than most machines, so that only hopeless candidates are skipped in advance.
_PAIRS_PER_SECOND = 5e8
# What ranking all pairs, and a joint epoch of GAug-O, take in terms of an epoch of a GAE.
_RANKING, _JOINT_EPOCH = 5, 10
# What a joint epoch of sparse GAug-O takes in terms of an epoch without augmentation.
_SPARSE_EPOCH = 8
# Epochs of an autoencoder with sampled pairs, times nodes.
_SAMPLED_PER_SECOND = 5e5

#: Settings of training that a candidate may add.
ADDED = ("students", "consistency_passes")


@dataclass(frozen=True)
class Candidate:
    """A method with settings, and what is added to its training.

    Attributes:
        config: Settings of the method.
        students: Models that are trained after the first, at least.
        consistency_passes: Passes of a step that should agree, at least.
    """

    config: MethodConfig
    students: int = 0
    consistency_passes: int = 0

    @property
    def changed(self) -> list[str]:
        """The predictor and the non-default settings, as ``name=value``."""
        plain = type(self.config)()
        changed = [
            f"{one.name}={getattr(self.config, one.name)}"
            for one in fields(self.config)
            if one.name == "predictor" or getattr(self.config, one.name) != getattr(plain, one.name)
        ]
        return changed + [f"{name}={value}" for name, value in self.added.items()]

    @property
    def added(self) -> dict[str, int]:
        """The settings of training that are added."""
        return {name: getattr(self, name) for name in ADDED if getattr(self, name)}

    @property
    def added_alone(self) -> list[Candidate]:
        """Each of these without augmentation and without the others."""
        plain = NoAugmentationConfig()
        return [Candidate(plain, **{name: value}) for name, value in self.added.items()]

    def trial(self, plan: Plan) -> Trial:
        """The plan with this candidate, as a trial."""
        given = {name: getattr(plan.training, name) for name in self.added}
        added = {name: max(value, given[name]) for name, value in self.added.items()}
        plan = replace(plan.with_method(self.config), training=replace(plan.training, **added))
        return Trial(str(self), plan, {**self.config.to_dict(), **added})

    def least_seconds(
        self, num_nodes: int, training: TrainingConfig, epoch_seconds: float
    ) -> float:
        """Lower bound of the time of a trial.

        Args:
            num_nodes: Number of nodes.
            training: How it is trained, with what is added.
            epoch_seconds: What an epoch without augmentation takes.
        """
        pairs = num_nodes * (num_nodes - 1) / 2
        passes = _passes(self.config, num_nodes, training)
        epochs = _epochs(self.config, num_nodes, training)
        epochs += training.students * _joint_epochs(training)
        epochs *= max(1, training.consistency_passes)
        fitting = 0 if num_nodes <= EXACT_UP_TO else _fitting_epochs(self.config)
        return (
            passes * pairs / _PAIRS_PER_SECOND
            + fitting * num_nodes / _SAMPLED_PER_SECOND
            + epochs * epoch_seconds
        )

    def __str__(self) -> str:
        return " ".join([self.config.name, *self.changed])


def _passes(config: MethodConfig, num_nodes: int, training: TrainingConfig) -> int:
    """Minimum number of passes over all pairs of nodes, in the first run, in epochs of a GAE."""
    match config:
        case GAugMConfig():
            return _RANKING + (_fitting_epochs(config) if num_nodes <= EXACT_UP_TO else 0)
        case AdaEdgeConfig():
            return _RANKING
        case GAugOConfig() if not _is_sparse(config, num_nodes):
            return config.pretrain_predictor_epochs + _JOINT_EPOCH * _joint_epochs(training)
        case StackConfig():
            return sum(_passes(part, num_nodes, training) for part in config.parts)
    return 0


def _epochs(config: MethodConfig, num_nodes: int, training: TrainingConfig) -> int:
    """Minimum number of epochs of the classifier, in those of a model without augmentation."""
    match config:
        case GAugMConfig():
            return config.rounds * _joint_epochs(training)
        case AdaEdgeConfig():
            return 2 * _joint_epochs(training)
        case GAugOConfig():
            joint = _SPARSE_EPOCH if _is_sparse(config, num_nodes) else 1
            return config.pretrain_classifier_epochs + joint * _joint_epochs(training)
        case StackConfig():
            return max(_epochs(part, num_nodes, training) for part in config.parts)
    return _joint_epochs(training)


def _fitting_epochs(config: MethodConfig) -> int:
    """Epochs of the autoencoders of GAug-M, alone or in a stack."""
    parts = config.parts if isinstance(config, StackConfig) else (config,)
    named = [part.predictor_configs() for part in parts if isinstance(part, GAugMConfig)]
    learned = any(predictors.keys() & {"gae", "vgae"} for predictors in named)
    return GAEConfig().predictor_epochs if learned else 0


def _joint_epochs(training: TrainingConfig) -> int:
    """With patience, there may be as few epochs as this."""
    return min(training.epochs, training.patience or training.epochs)


def _is_sparse(config: GAugOConfig, num_nodes: int) -> bool:
    return config.resolved(num_nodes).engine == "sparse"


def _mended(
    predictor: str, add_fraction: float, remove_fraction: float, allocation: str = "per-node"
) -> Candidate:
    return Candidate(
        GAugMConfig(
            predictor=predictor,
            add_fraction=add_fraction,
            remove_fraction=remove_fraction,
            allocation=allocation,
        )
    )


NONE = Candidate(NoAugmentationConfig())
# Fractions chosen on validation nodes of BlogCatalog, Citeseer and Air-USA; see
# docs/results_gaug_m.md.
FEATURES = _mended("features", 0.5, 0.3)
SMOOTHED = _mended("smoothed", 0.5, 0.0)
STRUCTURE = _mended("structure", 1.0, 0.5)
DROPEDGE = Candidate(DropEdgeConfig())
ADAEDGE = Candidate(AdaEdgeConfig())
GAUG_O = Candidate(GAugOConfig())
# What pays where labels are few; see docs/results_few_labels.md.
STUDENT = Candidate(NONE.config, students=1)
CONSISTENT = Candidate(NONE.config, consistency_passes=2)

#: What is tried first: every predictor with round numbers, the other methods, and what may be
#: added to the training.
CANDIDATES = (
    FEATURES,
    SMOOTHED,
    DROPEDGE,
    STUDENT,
    CONSISTENT,
    STRUCTURE,
    *(_mended(name, 0.3, 0.0) for name in ("ra", "lnb", "jaccard", "llhn", "car", "gae", "vgae")),
    ADAEDGE,
    GAUG_O,
)

# Shares of edges to add and to remove around a predictor that looks promising. The largest comes
# first: all other rankings are parts of it.
_SHARES = ((1.0, 0.0), (0.5, 0.0), (0.5, 0.3), (1.0, 0.5), (0.25, 0.0), (0.0, 0.3))


def variants(candidate: Candidate) -> list[Candidate]:
    """The same predictor with other shares of edges, and with the best of all pairs."""
    config = candidate.config
    if not isinstance(config, GAugMConfig):
        return []
    made = [_mended(config.predictor, *shares) for shares in _SHARES]
    made.append(_mended(config.predictor, 0.5, 0.0, "global"))
    return [variant for variant in made if variant.config != config]


def built_upon(candidate: Candidate) -> list[Candidate]:
    """What pays where labels are few, alone and together; upon GAug-M methods that vary its graph,
    and a second round.
    """
    config, student = candidate.config, replace(candidate, students=1)
    added = [student, replace(candidate, consistency_passes=2)]
    added.append(replace(student, consistency_passes=2))
    if not isinstance(config, GAugMConfig):
        return added
    made = [
        stack_config(config, DropEdgeConfig()),
        stack_config(config, DropEdgeConfig(drop_fraction=0.2)),
        replace(config, rounds=2),
        replace(config, rounds=2, second_remove_fraction=0.6),
        stack_config(config, GAugOConfig()),
    ]
    return [*added, *map(Candidate, made)]


def joined(one: Candidate, other: Candidate) -> list[Candidate]:
    """The sum of two predictors, with the larger shares of both."""
    first, second = one.config, other.config
    if not isinstance(first, GAugMConfig) or not isinstance(second, GAugMConfig):
        return []
    if first.predictor == second.predictor:
        return []
    return [
        _mended(
            f"{first.predictor}+{second.predictor}",
            max(first.add_fraction, second.add_fraction),
            max(first.remove_fraction, second.remove_fraction),
        )
    ]


def unsuitable(candidate: Candidate, task: Task) -> str | None:
    """Why a candidate does not apply to a graph, as part of a sentence; None if it does."""
    config = candidate.config
    compares = isinstance(config, GAugMConfig) and "features" in config.predictor_configs()
    if compares and not compares_nodes(task.features):
        return "no two nodes have a feature in common, or all have the same ones"
    if "gaug-o" in config.name and task.adjacency.weight is not None:
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
