"""Try several methods within a time budget and choose one on validation nodes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from torch_geometric.data import Data

from gaug.choosing.candidates import CANDIDATES, NONE
from gaug.choosing.comparison import Comparison
from gaug.choosing.engine import TrialRunner, check_validation, resampling_of
from gaug.choosing.limits import TIME_BUDGET, TRIAL_RUNS, check_auto
from gaug.choosing.race import race
from gaug.classifier.base import NodeClassifier
from gaug.classifier.graph_info import GraphInfo
from gaug.classifier.mended_graph import MendedGraphClassifier
from gaug.data.config import SplitConfig
from gaug.data.fitting_split import with_fitting_masks
from gaug.data.splits import Split
from gaug.models.spec import Model
from gaug.runs.executor import Executor, OnNote, OnProgress
from gaug.runs.executors import choose_executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import GraphLike, Plan
from gaug.runs.store import Store
from gaug.training.config import TrainingConfig


def choose_method(
    plan: Plan,
    *,
    time_budget: float = TIME_BUDGET,
    runs: int = TRIAL_RUNS,
    graphs: Graphs | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
    on_progress: OnProgress | None = None,
    on_note: OnNote | None = None,
) -> Comparison:
    """Try candidates within a time budget and compare them on the validation nodes.

    Labels of test nodes are not used. No augmentation is always tried. When the time of a part of
    the race is up, no more of its runs begin. With enough time, the same seed gives the same
    choice. See `gaug.choosing.race`.

    Args:
        plan: Everything but the method.
        time_budget: Seconds for all trials together.
        runs: Runs of a candidate before the final.
        graphs: Graphs that are already loaded.
        executor: Where to run; by default in this process.
        store: Where runs are recorded and reused from.
        on_progress: Called regularly with the finished share of the trials.
        on_note: Called with a few words about who leads.
    """
    check_auto(plan.model.name, time_budget)
    graphs = graphs or Graphs()
    check_validation(graphs, NONE.trial(plan))
    runner = TrialRunner(
        graphs, runs, executor, store, resampling=resampling_of(graphs, plan, runs)
    )
    return race(
        plan,
        graphs.place(plan).task,
        runner,
        time_budget=time_budget,
        on_progress=on_progress,
        on_note=on_note,
    )


@dataclass(frozen=True)
class AutoResult:
    """The result of `auto`: the fitted classifier and all trials.

    Attributes:
        comparison: The trials with validation scores, and the chosen one.
        classifier: The chosen method, fitted; without augmentation if nothing helped.
        augmented: The augmented graph if GAug-M was chosen, otherwise the given graph.
    """

    comparison: Comparison
    classifier: NodeClassifier
    augmented: Data

    @property
    def test_score(self) -> float | None:
        """Test score of the classifier, the only one that was read; None without test nodes."""
        return self.classifier.summary.test_score

    def __str__(self) -> str:
        lines = [str(self.comparison), f"Chosen: {self.comparison.chosen}"]
        if self.test_score is not None:
            lines.append(f"Test micro-F1 of the fitted classifier: {self.test_score:.1f}")
        return "\n".join(lines)


def auto(
    graph: GraphLike,
    *,
    time_budget: float = TIME_BUDGET,
    model: Model = "gcn",
    training: TrainingConfig | None = None,
    trial_runs: int = TRIAL_RUNS,
    split: str | None = None,
    split_config: SplitConfig | None = None,
    seed: int = 0,
    info: GraphInfo | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    threads: int = 1,
    device: str | None = None,
    store: Store | None = None,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> AutoResult:
    """Try several methods, choose one on the validation nodes, and fit it.

    No augmentation, GAug-M with every predictor and several shares of edges, DropEdge, AdaEdge,
    GAug-O, and what may be added to the training (a student, a loss of consistency) race as far as
    the time allows (`gaug.choosing.race`). A candidate is chosen only if it is 95 % sure to be
    above no augmentation, considering how many were tried (`gaug.choosing.gains`); otherwise the
    graph is left unchanged and the model is trained as given. Test nodes, if there are any, are
    used once, for the final classifier.

    Args:
        graph: A graph with features and labels: a `Data`, where ``y = -1`` marks nodes to predict,
            an opened graph, or anything that `gaug.open_graph` takes.
        time_budget: Seconds for all trials together. A budget that cuts trials off can change the
            choice from one machine to another; with enough time only the seed decides.
        model: The classifier, as in `gaug.methods.method.Method`; not ``mlp``.
        training: Settings of training.
        trial_runs: Runs of a candidate before the final.
        split: The kind of split or a path. The default is that of `Method.fit`: masks are used if
            present; without them a fifth of the labeled nodes is for validation.
        split_config: Fractions, counts and seed of a drawn split.
        seed: Seed of all randomness.
        info: Names of nodes, classes and features, if any.
        workers: Number of worker processes at most, one by default; on a cluster, of runs at a
            time.
        cluster: Address of a Ray cluster to run on: ``auto``, ``host:port`` or
            ``ray://host:port``.
        threads: Threads per run.
        device: Where to compute; by default where the graph is.
        store: Where runs are recorded and reused from.
        on_progress: Called regularly with the finished share of the trials.
        settings: Individual settings of the model or of training by name.

    Example:
        >>> from gaug import auto, load_graph
        >>> data = load_graph("karate")
        >>> result = auto(data, time_budget=5, trial_runs=1, epochs=3)
        >>> result.comparison.plain.plan.method.name, len(result.classifier.predict(data))
        ('none', 34)
    """
    plan = Plan.of(
        graph,
        model=model,
        training=training,
        settings=settings,
        split=split,
        split_config=split_config,
        seed=seed,
        threads=threads,
        device=device,
    )
    graphs = Graphs()
    loaded = graphs.load(plan)
    if split is None and plan.split_config == SplitConfig():
        masked = with_fitting_masks(loaded.data, seed=seed)
        plan = dataclasses.replace(plan, split=Split.of_masks(masked, "all labeled nodes"))
    plans = [candidate.trial(plan).plan for candidate in CANDIDATES]
    with choose_executor(workers, cluster, plans=plans, graphs=graphs) as executor:
        comparison = choose_method(
            plan,
            time_budget=time_budget,
            runs=trial_runs,
            graphs=graphs,
            executor=executor,
            store=store,
            on_progress=on_progress,
        )
    chosen = comparison.chosen.plan
    method = chosen.method.build(model=chosen.model, training=chosen.training, seed=seed)
    data = graphs.split(plan).apply(loaded.data)
    classifier = method.fit(data.to(plan.device), info=info, threads=threads)
    given = graph if isinstance(graph, Data) else loaded.data
    augmented = given
    if isinstance(classifier, MendedGraphClassifier):
        augmented = classifier.augmented(given, info=info)
    return AutoResult(comparison, classifier, augmented)
