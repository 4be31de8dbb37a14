"""What all runs of a plan share, and one run of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gaug import GAugM, GAugO, NoAugmentation, Stack
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.base import EdgePredictor
from gaug.edge_predictors.features import FeatureSimilarity
from gaug.edge_predictors.gae import GAE
from gaug.edge_predictors.local_indices import ResourceAllocation
from gaug.errors import ConfigError
from gaug.models.spec import ModelSpec
from gaug.seeding import run_seed
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun, Visible
from gaug.training.loop import train_run
from gaug.training.run import PreparedRuns, computing_threads
from gaug.training.task import Task


@pytest.fixture
def task() -> Task:
    data = planted_graph(SyntheticConfig(num_nodes=60, num_classes=3))
    return Task.of(make_split(data, "stratified", SplitConfig(train_fraction=0.3)).apply(data))


def prepared(task: Task, method: Any = None, model: Any = "gcn", **options: Any) -> PreparedRuns:
    training = TrainingConfig(epochs=3)
    return PreparedRuns.prepare(
        task, ModelSpec.of(model), method or NoAugmentation(), training, **options
    )


class Watching(NoAugmentation):
    """Notes the number of threads and the seed that it is prepared with; may raise in a run."""

    def __init__(self, *, raises: bool = False) -> None:
        super().__init__()
        self.raises = raises
        self.threads: list[int] = []
        self.prepared: list[int] = []

    def prepare(self, visible: Visible, seed: int, **_: Any) -> Watching:
        self.prepared.append(seed)
        return self

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        self.threads.append(torch.get_num_threads())
        if self.raises:
            raise ZeroDivisionError
        return AugmentedRun(visible, generator)


def test_seeds_of_runs_are_distinct_over_seeds_and_runs() -> None:
    seeds = {run_seed(seed, run) for seed in range(50) for run in range(50)}
    assert len(seeds) == 2500


def test_seeds_of_runs_are_stable_and_fit_a_generator() -> None:
    for run in range(100):
        seed = run_seed(7, run)
        assert seed == run_seed(7, run)
        assert 0 <= seed < 2**63
        torch.Generator().manual_seed(seed)


class Threads:
    """A predictor that notes how many threads it is fitted with, and how many a ranking has."""

    def __init__(self) -> None:
        self.fitted_with: set[int] = set()
        self.ranked_with: set[int] = set()

    def fit(self, data: Data) -> None:
        self.fitted_with.add(torch.get_num_threads())

    def edge_logits(self, pairs: Tensor) -> Tensor:
        self.ranked_with.add(torch.get_num_threads())
        return pairs.sum(dim=0).float()


def test_a_method_is_prepared_with_the_threads_of_a_run_and_ranks_with_all(task: Task) -> None:
    predictor = Threads()
    with computing_threads(3):
        prepared(task, GAugM(predictor=predictor, remove_fraction=0.0), threads=2)
        assert torch.get_num_threads() == 3
    assert predictor.fitted_with == {2}
    assert 3 in predictor.ranked_with


@pytest.mark.parametrize("kind", [GAE, FeatureSimilarity, ResourceAllocation])
def test_what_a_method_prepares_does_not_depend_on_the_threads_of_the_process(
    task: Task, kind: type[EdgePredictor]
) -> None:
    graphs = []
    for threads in (1, 2):
        with computing_threads(threads):
            # An object is fitted anew each time; one by name would be reused.
            runs = prepared(task, GAugM(predictor=kind(), add_fraction=0.5), threads=1)
            assert isinstance(runs.method, GAugM)
            graphs.append(runs.method.adjacency_.pairs)
    assert torch.equal(*graphs)


def test_a_run_is_the_loop_with_the_seed_of_its_number(task: Task) -> None:
    runs = prepared(task, seed=4)
    expected = train_run(
        task, runs.build_model, NoAugmentation(), runs.model.config, runs.training, run_seed(4, 2)
    )
    assert torch.equal(runs.train(2).probabilities, expected.probabilities)
    assert not torch.equal(runs.train(1).probabilities, expected.probabilities)


def test_a_method_is_prepared_once_with_the_seed_of_the_plan(task: Task) -> None:
    method = Watching()
    runs = prepared(task, method, seed=5)
    for run in range(3):
        runs.train(run)
    assert method.prepared == [5]
    assert len(method.threads) == 3


def test_a_run_has_the_threads_asked_for_and_the_caller_keeps_its_own(task: Task) -> None:
    before = torch.get_num_threads()
    method = Watching()
    prepared(task, method, threads=before + 1).train(0)
    assert method.threads == [before + 1]
    assert torch.get_num_threads() == before


def test_a_run_that_raises_gives_back_the_threads_of_the_caller(task: Task) -> None:
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        prepared(task, Watching(raises=True), threads=before + 1).train(0)
    assert torch.get_num_threads() == before
    with pytest.raises(KeyError), computing_threads(before + 1):
        raise KeyError
    assert torch.get_num_threads() == before


def test_no_threads_are_refused_before_anything_is_prepared(task: Task) -> None:
    method = Watching()
    with pytest.raises(ConfigError, match="threads must be at least 1, got 0"):
        prepared(task, method, threads=0)
    assert method.prepared == []


def test_a_control_is_shown_the_labels_of_all_nodes_and_a_method_those_of_training_nodes(
    task: Task,
) -> None:
    shown: list[Tensor] = []

    class Looking(NoAugmentation):
        def prepare(self, visible: Visible, seed: int, **_: Any) -> Looking:
            shown.append(visible.labels)
            return self

    class Control(Looking):
        looks_at_labels = True

    for method in (Looking(), Control()):
        prepared(task, method)
    assert torch.equal(shown[0][task.train], task.labels[task.train])
    assert bool((shown[0][task.test] == -1).all())
    assert torch.equal(shown[1], task.labels)


class Wrong(nn.Module):
    """Gives one number for each node."""

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_features, 1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        logits: Tensor = self.layer(x.to_dense())
        return logits


def test_a_user_defined_module_is_tried_before_a_method_is_prepared(task: Task) -> None:
    method = Watching()
    with pytest.raises(ConfigError, match=r"of shape \[60, 3\], got \[60, 1\]"):
        prepared(task, method, Wrong)
    with pytest.raises(ConfigError, match=r"must have forward\(x, edge_index, edge_weight\)"):
        prepared(task, method, lambda i, c: nn.Linear(i, c))
    with pytest.raises(ConfigError, match=r"must make a torch\.nn\.Module, got int"):
        prepared(task, method, lambda i, c: 3)
    assert method.prepared == []


def test_trying_a_module_leaves_the_global_random_state_as_it_was(task: Task) -> None:
    class Right(Wrong):
        def __init__(self, in_features: int, num_classes: int) -> None:
            super().__init__(in_features, num_classes)
            self.layer = nn.Linear(in_features, num_classes)

    before = torch.get_rng_state()
    prepared(task, None, Right).train(0)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_epochs_that_a_run_may_take_are_those_of_its_method(two_cliques: Data) -> None:
    for number, part in enumerate(("train", "val", "test")):
        two_cliques[f"{part}_mask"] = torch.arange(6) % 3 == number
    runs = prepared(Task.of(two_cliques), GAugM(predictor="ra"))
    told: list[float] = []
    result = runs.train(0, on_progress=lambda now: told.append(now.epochs))
    assert told == [1, 2, 3]
    assert runs.max_epochs == result.epochs == 3


@pytest.mark.parametrize("stacked", [False, True])
def test_the_best_weights_of_pretraining_are_refused_where_nothing_is_validated(
    task: Task, stacked: bool
) -> None:
    method: Any = GAugO(pretrain_weights="best")
    method = Stack(GAugM(predictor="ra"), method) if stacked else method
    last = TrainingConfig(epochs=3, selection="last")
    with pytest.raises(ConfigError, match="pretrain_weights=best goes by the validation score"):
        PreparedRuns.prepare(task, ModelSpec.of("gcn"), method, last)
    prepared(task, method)
