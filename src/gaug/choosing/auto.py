"""Which method helps on this graph? Try several within a time, choose on validation nodes."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

from torch_geometric.data import Data

from gaug.choosing.candidates import NONE, Candidate, Omission, applicable
from gaug.choosing.scores import validate_repeatedly
from gaug.choosing.trial import MethodChoice, Trial
from gaug.classifier.base import NodeClassifier, valid_for
from gaug.classifier.graph_info import GraphInfo
from gaug.classifier.mended_graph import MendedGraphClassifier
from gaug.data.fitting_split import with_fitting_masks
from gaug.errors import ConfigError, TrainingError
from gaug.methods.method import check_model
from gaug.methods.none.method import NoAugmentation
from gaug.methods.spec import MethodSpec
from gaug.models.spec import Model, ModelSpec
from gaug.runs.executors import OnProgress
from gaug.training.config import TrainingConfig
from gaug.training.task import Task

#: Seconds for all trials, where nobody says otherwise.
TIME_BUDGET = 300.0
#: Runs of each trial.
TRIAL_RUNS = 3
# Faster than most machines are, so that only what is hopeless is left out beforehand.
_PAIRS_A_SECOND = 1e8


def choose_method(
    task: Task,
    model: ModelSpec,
    training: TrainingConfig,
    *,
    time_budget: float = TIME_BUDGET,
    runs: int = TRIAL_RUNS,
    seed: int = 0,
    threads: int = 1,
    on_progress: OnProgress | None = None,
) -> MethodChoice:
    """Try the candidates within a time and say which did best on the validation nodes.

    Labels of test nodes are not looked at. No augmentation is always tried to its end. Another
    trial is begun while there is time and stopped when there is none; what was stopped does not
    count. With enough time the same seed gives the same choice.

    Args:
        task: The graph with its split, laid out, on its device.
        model: The classifier.
        training: Settings of the loop.
        time_budget: Seconds for all trials together.
        runs: Runs of each trial.
        seed: Seed that the seeds of all runs derive from.
        threads: Threads of each run.
        on_progress: Called now and then with the share of the trials that is done.
    """
    check_auto(None if model.is_custom else model.name, time_budget, runs)
    check_model(model, task)
    begun = time.monotonic()
    found = applicable(task)
    trials: list[Trial] = []
    omissions = found.omissions
    for number, candidate in enumerate(found.candidates):
        watch = _Watch(
            begun + time_budget if trials else math.inf,
            runs,
            (number, len(found.candidates)),
            on_progress,
        )
        start = time.monotonic()
        left = watch.left()
        if left <= _least_seconds(candidate, task, training):
            reason = "it would take longer than the time left" if left > 0 else "no time was left"
            omissions.append(Omission(candidate, reason))
            continue
        method = MethodSpec(candidate.config, candidate.parts).build(model=model)
        try:
            scores = validate_repeatedly(
                task,
                model,
                method,
                training,
                runs=runs,
                seed=seed,
                threads=threads,
                on_progress=watch,
            )
        except _OutOfTimeError:
            omissions.append(Omission(candidate, "the time was over before its end"))
        except TrainingError as error:
            if candidate is NONE:
                raise
            omissions.append(Omission(candidate, f"training failed: {error}"))
        else:
            trials.append(Trial(candidate, scores, time.monotonic() - start))
    return MethodChoice(trials, omissions)


def check_auto(model: str | None, time_budget: float, runs: int = TRIAL_RUNS) -> None:
    """Raise if nothing can be chosen like that; ``model`` is None for a module of a user's."""
    if model == "mlp":
        raise ConfigError("auto changes edges, and an mlp looks at none. Choose a GNN as model.")
    if not 0 < time_budget < math.inf:
        raise ConfigError(f"time_budget must be above 0 and finite, got {time_budget:g}.")
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, got {runs}.")


@dataclass(frozen=True)
class AutoResult:
    """What `auto` found: the chosen method, fitted, and what it was chosen from.

    Attributes:
        choice: What was tried, with validation scores, and what was chosen.
        classifier: The chosen method, fitted; a plain model where nothing helped.
        augmented: The better graph where GAug-M was chosen, and otherwise the given one.
    """

    choice: MethodChoice
    classifier: NodeClassifier
    augmented: Data

    @property
    def test_score(self) -> float | None:
        """Test score of the classifier, the only one that was read; None without test nodes."""
        return self.classifier.summary.test_score

    def __str__(self) -> str:
        lines = [str(self.choice)]
        if self.test_score is not None:
            lines.append(f"Test micro-F1 of the fitted classifier: {self.test_score:.1f}")
        return "\n".join(lines)


def auto(
    data: Data,
    *,
    time_budget: float = TIME_BUDGET,
    model: Model = "gcn",
    training: TrainingConfig | None = None,
    runs: int = TRIAL_RUNS,
    seed: int = 0,
    info: GraphInfo | None = None,
    threads: int = 1,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> AutoResult:
    """Try several methods, choose one on the validation nodes, and fit it.

    No augmentation, GAug-M with several predictors, DropEdge and GAug-O are tried as far as the
    time allows. A method is chosen only if it is above no augmentation by more than the spread
    (see `ValidationScores`); otherwise the graph stays as it is and the model is a plain one.
    Nodes train and validate as in `Method.fit`; the test nodes, if there are some, are looked at
    once, by the classifier that is fitted in the end.

    Args:
        data: A graph with features and labels; nodes whose ``y`` is -1 are what to predict.
        time_budget: Seconds for all trials together. A budget that cuts trials off can change the
            choice from one machine to another; with enough time the seed decides alone.
        model: The classifier, as `gaug.methods.method.Method` takes it; no ``mlp``.
        training: Settings of the loop.
        runs: Runs of each trial.
        seed: Seed of everything that is random.
        info: Names of nodes, classes and features, where they have some.
        threads: Threads to compute with.
        on_progress: Called now and then with the share of the trials that is done.
        settings: Single settings of the model or of the loop by name.

    Example:
        >>> from gaug import auto, load_graph
        >>> result = auto(load_graph("karate"), runs=1, epochs=3)
        >>> len(result.choice.trials), result.choice.plain.candidate.config.name
        (6, 'none')
    """
    plain = NoAugmentation(model=model, training=training, seed=seed, **settings)
    valid, notes = valid_for(data, plain.model)
    if notes:
        warnings.warn(" ".join(notes), stacklevel=2)
    device = str(data.edge_index.device)
    split = with_fitting_masks(valid, seed=seed)
    choice = choose_method(
        Task.of(split).to(device),
        plain.model,
        plain.training,
        time_budget=time_budget,
        runs=runs,
        seed=seed,
        threads=threads,
        on_progress=on_progress,
    )
    chosen = choice.chosen.candidate
    method = MethodSpec(chosen.config, chosen.parts).build(
        model=plain.model, training=plain.training, seed=seed
    )
    classifier = method.fit(split.to(device), info=info, threads=threads)
    augmented = data
    if isinstance(classifier, MendedGraphClassifier):
        augmented = classifier.augmented(data, info=info)
    return AutoResult(choice, classifier, augmented)


class _OutOfTimeError(Exception):
    pass


class _Watch:
    """Tells how far the trials are, and ends one when the time is over."""

    def __init__(
        self,
        deadline: float,
        runs: int,
        place: tuple[int, int],
        on_progress: OnProgress | None,
    ) -> None:
        self.deadline = deadline
        self.runs = runs
        self.place = place
        self.on_progress = on_progress

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def __call__(self, done: float) -> None:
        number, total = self.place
        if self.on_progress is not None:
            self.on_progress((number + done / self.runs) / total)
        if done < self.runs and self.left() < 0:
            raise _OutOfTimeError


def _least_seconds(candidate: Candidate, task: Task, training: TrainingConfig) -> float:
    """What a trial takes at least on a fast machine, by the pairs of nodes that it looks at."""
    num_nodes = task.adjacency.num_nodes
    pairs = num_nodes * (num_nodes - 1) / 2
    return candidate.passes(training) * pairs / _PAIRS_A_SECOND
