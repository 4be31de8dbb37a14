"""Which method helps on this graph? Try several within a time, choose on validation nodes."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

from torch_geometric.data import Data

from gaug.choosing.candidates import NONE, CandidateList
from gaug.choosing.comparison import Comparison
from gaug.choosing.engine import TrialRunner, check_validation
from gaug.choosing.limits import TIME_BUDGET, TRIAL_RUNS, check_auto
from gaug.classifier.base import NodeClassifier
from gaug.classifier.graph_info import GraphInfo
from gaug.classifier.mended_graph import MendedGraphClassifier
from gaug.data.config import SplitConfig
from gaug.data.fitting_split import with_fitting_masks
from gaug.data.splits import Split
from gaug.models.spec import Model
from gaug.runs.executors import Executor, OnProgress, local_executor
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
) -> Comparison:
    """Try the candidates within a time and say which did best on the validation nodes.

    Labels of test nodes are not looked at. No augmentation is always tried to its end. Another
    trial is begun while there is time and stopped when there is none; what was stopped does not
    count. With enough time the same seed gives the same choice.

    Args:
        plan: Everything but the method.
        time_budget: Seconds for all trials together.
        runs: Runs of each trial.
        graphs: Graphs that were loaded before.
        executor: Where to run; by default in this process.
        store: Where runs go on record, and from where they are taken over.
        on_progress: Called now and then with the share of the trials that is done.
    """
    check_auto(plan.model.name, time_budget)
    graphs = graphs or Graphs()
    plain = NONE.trial(plan)
    check_validation(graphs, plain)
    deadline = time.monotonic() + time_budget
    candidates = CandidateList(plan, graphs.place(plan).task, deadline=deadline)
    total = len(candidates) + 1
    runner = TrialRunner(graphs, runs, executor, store, deadline)

    def tell(done: float) -> None:
        if on_progress is not None:
            on_progress(done / total)

    plain = runner.run_one(plain, tell)
    tried = runner.run_all(candidates, lambda done: tell(1 + done))
    return Comparison(plain, [*tried, *candidates.left_out])


@dataclass(frozen=True)
class AutoResult:
    """What `auto` found: the chosen method, fitted, and what it was chosen from.

    Attributes:
        comparison: What was tried, with validation scores, and what was chosen.
        classifier: The chosen method, fitted; a plain model where nothing helped.
        augmented: The better graph where GAug-M was chosen, and otherwise the given one.
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
    workers: int = 1,
    threads: int = 1,
    device: str | None = None,
    store: Store | None = None,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> AutoResult:
    """Try several methods, choose one on the validation nodes, and fit it.

    No augmentation, GAug-M with several predictors, DropEdge and GAug-O are tried as far as the
    time allows. A method is chosen only if it is above no augmentation by more than chance (see
    `ValidationScores`); otherwise the graph stays as it is and the model is a plain one. The test
    nodes, if there are some, are looked at once, by the classifier that is fitted in the end.

    Args:
        graph: A graph with features and labels: a `Data`, whose nodes with ``y`` of -1 are what to
            predict, a graph that was opened before, or what `gaug.open_graph` takes.
        time_budget: Seconds for all trials together. A budget that cuts trials off can change the
            choice from one machine to another; with enough time the seed decides alone.
        model: The classifier, as `gaug.methods.method.Method` takes it; no ``mlp``.
        training: Settings of the loop.
        trial_runs: Runs of each trial.
        split: The kind of split or a path; by default nodes train and validate as in `Method.fit`:
            masks are used, and a fifth of the labeled nodes validates where there are none.
        split_config: Fractions, counts and seed of a split that is drawn.
        seed: Seed of everything that is random.
        info: Names of nodes, classes and features, where they have some.
        workers: Processes to spread the runs over.
        threads: Threads of each run.
        device: Where to compute; by default where the graph is.
        store: Where runs go on record, and from where they are taken over.
        on_progress: Called now and then with the share of the trials that is done.
        settings: Single settings of the model or of the loop by name.

    Example:
        >>> from gaug import auto, load_graph
        >>> result = auto(load_graph("karate"), trial_runs=1, epochs=3)
        >>> len(result.comparison.trials), result.comparison.plain.plan.method.name
        (6, 'none')
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
    if split is None and split_config is None:
        masked = with_fitting_masks(loaded.data, seed=seed)
        plan = dataclasses.replace(plan, split=Split.of_masks(masked, "all labeled nodes"))
    with local_executor(workers) as executor:
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
    method = chosen.method.build(model=plan.model, training=plan.training, seed=seed)
    data = graphs.split(plan).apply(loaded.data)
    classifier = method.fit(data.to(plan.device), info=info, threads=threads)
    given = graph if isinstance(graph, Data) else loaded.data
    augmented = given
    if isinstance(classifier, MendedGraphClassifier):
        augmented = classifier.augmented(given, info=info)
    return AutoResult(comparison, classifier, augmented)
