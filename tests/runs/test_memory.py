"""The memory of a run: estimated, refused where it does not fit, and shared by workers."""

from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
import torch
from torch_geometric.data import Data

import gaug
from gaug import NoAugmentation
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError, GaugError
from gaug.memory import Room, held_memory, set_max_memory
from gaug.methods.gaug_o.memory import edge_bytes
from gaug.methods.run_memory import RunMemory, ranking_memory, run_memory
from gaug.models.spec import ModelSpec
from gaug.runs.execute import execute, execute_all
from gaug.runs.execution import Request
from gaug.runs.executor import Tell, ThisProcess
from gaug.runs.graphs import Graphs, PlacedPlan
from gaug.runs.memory import check_run, fitting_workers, plan_memory, worker_memory, workers_in
from gaug.runs.plan import Plan
from gaug.runs.resolving import automatic_batching
from gaug.runs.run_job import RunJob
from gaug.runs.worker_processes import WORKER_BYTES, WorkerProcesses
from gaug.training.graph_size import GraphSize

GB = 10**9
SIZE = GraphSize(nodes=100_000, pairs=500_000, features=1_000_000)


@pytest.fixture(autouse=True)
def no_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("GAUG_MAX_MEMORY", "")
    set_max_memory(None)
    yield
    set_max_memory(None)


@pytest.fixture
def data() -> Data:
    return planted_graph(SyntheticConfig(num_nodes=400, num_classes=2, num_features=20))


def memory_of(model: str = "gcn", method: str = "none", **settings: Any) -> RunMemory:
    plan = Plan.of("karate", model=model, method=method, settings=settings)
    return run_memory(SIZE, plan.model, plan.method.config, plan.method.predictors)


_MEASURED = """
import json, sys
import psutil
import gaug, gaug.runs.evaluate, gaug.methods.gaug_m.method, gaug.methods.gaug_o.method
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.runs.cost import measured
from gaug.runs.graphs import Graphs, PlacedPlan
from gaug.runs.memory import plan_memory
model, method, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
data = planted_graph(SyntheticConfig(num_nodes=20_000, degree=20.0))
plan = gaug.Plan.of(data, model=model, method=method, settings=settings)
graphs = Graphs()
placed = graphs.place(plan)
held = psutil.Process().memory_info().rss
with measured() as cost:
    graphs.prepare(placed, hide_test=False).train(0)
print(json.dumps([held, plan_memory(placed).peak, cost.peak_memory_mb * 1e6]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a part is measured on Linux only")
@pytest.mark.parametrize(
    ("model", "method", "settings"),
    [
        ("gcn", "none", {"epochs": 3}),
        ("gat", "dropedge", {"epochs": 3}),
        ("jknet", "none", {"epochs": 3}),
        ("gsage", "gaug-m", {"epochs": 3, "predictor_epochs": 2}),
        ("gcn", "gaug-m+dropedge", {"epochs": 3, "predictor_epochs": 2}),
        ("gcn", "gaug-o", {"epochs": 1, "alpha": 0.02, "pretrain_predictor_epochs": 1,
                           "pretrain_classifier_epochs": 1}),
        ("gcn", "adaedge", {"epochs": 3, "rounds": 1}),
        ("gcn", "bgcn", {"epochs": 3, "graphs": 1}),
        ("gcn", "none", {"epochs": 1, "batch_size": 400, "fanout": 10}),
        ("jknet", "none", {"epochs": 1, "batch_size": 400, "fanout": 5}),
        ("gat", "none", {"epochs": 1, "batch_size": 2000, "fanout": 10}),
        ("gcn", "gaug-o", {"epochs": 1, "pretrain_predictor_epochs": 1, "edge_embedding": 64,
                           "pretrain_classifier_epochs": 1, "edge_model": "vgae",
                           "batch_size": 400, "fanout": 5}),
        ("gcn", "gaug-m", {"epochs": 1, "predictor": "vgae", "predictor_epochs": 2,
                           "predictor_hidden": 512, "batch_size": 400, "fanout": 10}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_run_takes_no_more_than_its_estimate_and_not_much_less(
    model: str, method: str, settings: dict[str, Any]
) -> None:
    command = [sys.executable, "-c", _MEASURED, model, method, json.dumps(settings)]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    held, estimate, peak = json.loads(found.stdout)
    assert peak <= held + estimate <= 1.5 * peak


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (memory_of(), memory_of(hidden=256)),
        (memory_of(), memory_of(layers=3)),
        (memory_of(), memory_of("jknet")),
        (memory_of(), memory_of("gat")),
        (memory_of("gat"), memory_of("gat", heads=16)),
        (memory_of("mlp"), memory_of()),
        (memory_of(), memory_of(method="dropedge")),
        (memory_of(method="dropedge"), memory_of(method="dropedge", layer_wise="true")),
        (memory_of(), memory_of(method="adaedge")),
        (memory_of(), memory_of(method="bgcn")),
        (memory_of(), memory_of(method="gaug-m")),
        (memory_of(method="gaug-m", add_fraction=0), memory_of(method="gaug-m", add_fraction=1)),
        (memory_of(), memory_of(method="gaug-o")),
        (memory_of(method="gaug-m"), memory_of(method="gaug-m+dropedge")),
        (memory_of(method="dropedge"), memory_of(method="gaug-m+dropedge")),
        (memory_of(method="adaedge"), memory_of(method="adaedge+gaug-o")),
        (memory_of(method="gaug-o"), memory_of(method="adaedge+gaug-o")),
        (memory_of(method="gaug-o"), memory_of(method="gaug-o", edge_embedding=64)),
        (memory_of(method="gaug-o"), memory_of(method="gaug-o", edge_model="vgae")),
    ],
)
def test_what_holds_more_takes_more(less: RunMemory, more: RunMemory) -> None:
    assert less.run < more.run


@pytest.mark.parametrize("model", ["gcn", "gsage", "gat", "jknet", "mlp"])
@pytest.mark.parametrize("number", ["nodes", "pairs", "features"])
def test_a_larger_graph_takes_more(model: str, number: str) -> None:
    larger = dataclasses.replace(SIZE, **{number: 2 * getattr(SIZE, number)})
    plan = Plan.of("karate", model=model)
    small, large = (run_memory(each, plan.model, plan.method.config) for each in (SIZE, larger))
    assert small.run < large.run or (model, number) == ("mlp", "pairs")  # which sees no edges


def test_a_step_on_a_part_of_the_graph_takes_less() -> None:
    plan = Plan.of("karate", model="gat")
    whole = run_memory(SIZE, plan.model, plan.method.config)
    all_of_it = dataclasses.replace(SIZE, step_nodes=SIZE.nodes, step_pairs=SIZE.pairs)
    assert run_memory(all_of_it, plan.model, plan.method.config).run > whole.run  # two at a time
    part = dataclasses.replace(SIZE, step_nodes=5000, step_pairs=20_000)
    assert run_memory(part, plan.model, plan.method.config).run < whole.run


def test_the_graphs_that_a_method_draws_are_no_reason_to_refuse() -> None:
    small, large = (
        memory_of(method="gaug-o", alpha=alpha, engine="blocked") for alpha in (0.01, 0.5)
    )
    assert small.least == large.least
    assert small.peak < large.peak


def test_graphs_that_reach_their_limit_are_a_reason() -> None:
    """A hundred thousand nodes at alpha=0.2 ask for far more than four times the edges."""
    capped = memory_of("gat", "gaug-o")
    assert capped.least == capped.peak == capped.run + capped.drawn
    assert capped.drawn == 4 * SIZE.pairs * edge_bytes(ModelSpec.of("gat"))
    few = memory_of("gat", "gaug-o", alpha=1e-6)
    assert few.least < few.peak < capped.least


@pytest.mark.parametrize("passes", [0, 3])
def test_a_refusal_tells_how_many_edges_may_be_drawn(passes: int) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=12_000))
    settings = {"batch_size": 100, "fanout": 5, "consistency_passes": passes}
    plan = Plan.of(data, model="gat", method="gaug-o", settings=settings)
    placed = Graphs().place(plan)
    tight = Room(plan_memory(placed).least - 1_000_000)
    with pytest.raises(ConfigError, match=r"max_sampled_edges=(\d+) would fit\.$") as refusal:
        check_run(placed, tight)
    fewer = str(refusal.value).rpartition("=")[2].split()[0]
    fitting = plan.with_settings([f"max_sampled_edges={fewer}"])
    check_run(Graphs().place(fitting), tight)


def test_an_automatic_batch_size_counts_the_graphs_that_are_drawn() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=12_000))
    settings: dict[str, Any] = {"batch_size": "auto", "fanout": 5}
    plan = Plan.of(data, model="gat", method="gaug-o", settings=settings)
    whole = Graphs().place(Plan.of(data, model="gat", method="gaug-o"))
    memory = plan_memory(whole)
    found = automatic_batching(whole.plan, whole.task, Room(memory.peak))
    assert found.training.batch_size is None
    with_engine = dataclasses.replace(whole.plan, training=plan.training)
    found = automatic_batching(with_engine, whole.task, Room(memory.peak - 1))
    assert found.training.batch_size is not None


def test_dense_features_count_by_their_entries() -> None:
    plan = Plan.of("karate")
    narrow, wide = (
        run_memory(
            dataclasses.replace(SIZE, features=width * SIZE.nodes, dense=True),
            plan.model,
            plan.method.config,
        )
        for width in (10, 1000)
    )
    assert wide.run - narrow.run >= 4 * 990 * SIZE.nodes


def test_ranking_grows_with_the_edges_and_with_the_width_of_the_predictor() -> None:
    denser = dataclasses.replace(SIZE, pairs=2 * SIZE.pairs)
    assert ranking_memory(SIZE) < ranking_memory(denser)
    wider: list[dict[str, Any]] = [{}, {"predictor_hidden": 256}, {"embedding": 256}]
    sizes = [memory_of(method="gaug-m", predictor="vgae", **settings).prepare for settings in wider]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3


BATCH = dataclasses.replace(SIZE, step_nodes=5000, step_pairs=20_000, hops=2)


def test_batches_of_a_denser_graph_are_larger() -> None:
    """Twice the edges of each node: four times the nodes within two hops."""
    grown = BATCH.grown(2.0)
    assert grown.pairs == 2 * SIZE.pairs
    assert (grown.step_nodes, grown.step_pairs) == (20_000, 160_000)
    assert BATCH.grown(1.0) == BATCH
    everything = BATCH.grown(100.0)
    assert (everything.step_nodes, everything.step_pairs) == (SIZE.nodes, everything.pairs)
    assert SIZE.grown(2.0) == dataclasses.replace(SIZE, pairs=2 * SIZE.pairs)


@pytest.mark.parametrize("method", ["adaedge", "bgcn"])
def test_methods_with_graphs_of_their_own_hold_them_whole_in_mini_batches(method: str) -> None:
    none, own = (Plan.of("karate", method=name) for name in ("none", method))
    sizes = SIZE, BATCH
    whole, part = (
        run_memory(size, own.model, own.method.config).run
        - run_memory(size, none.model, none.method.config).run
        for size in sizes
    )
    assert whole == part


def test_many_classes_take_more() -> None:
    plan = Plan.of("karate")
    few, many = (
        run_memory(dataclasses.replace(SIZE, classes=count), plan.model, plan.method.config).run
        for count in (2, 1000)
    )
    assert many - few >= 4 * 998 * SIZE.nodes


def test_nothing_is_refused_on_another_device(data: Data) -> None:
    placed = Graphs().place(Plan.of(data))
    elsewhere = dataclasses.replace(placed, plan=dataclasses.replace(placed.plan, device="cuda"))
    check_run(elsewhere, Room(0))
    assert plan_memory(elsewhere).peak == 0


def test_a_run_that_does_not_fit_is_refused_with_the_figure_before_training(
    data: Data, trained: list[int]
) -> None:
    set_max_memory("1MB")
    message = (
        r"^A run of gcn, none needs about \d+ MB for 400 nodes, and 0 MB of the 1 MB of"
        r" max_memory are left\. Use a smaller graph or a machine with more memory\.$"
    )
    with pytest.raises(ConfigError, match=message) as refused:
        execute(Plan.of(data), runs=2)
    assert refused.value.topic == "max-memory"
    assert trained == []


def placed_on(graph: Data, **settings: Any) -> PlacedPlan:
    return Graphs().place(Plan.of(graph, settings=settings))


def test_a_refusal_tells_which_batches_fit_or_how_wide_a_model() -> None:
    large = planted_graph(SyntheticConfig(num_nodes=20_000))
    whole = placed_on(large, hidden=512)
    check_run(whole, Room(plan_memory(whole).least))
    check_run(whole, None)
    with pytest.raises(ConfigError, match=r"batch_size=(\d+) would fit\.$") as refusal:
        check_run(whole, Room(plan_memory(whole).least - 1))
    size = int(str(refusal.value).rpartition("=")[2].split()[0])
    fits = plan_memory(placed_on(large, hidden=512, batch_size=size)).least
    assert fits <= plan_memory(whole).least - 1
    batched = placed_on(large, hidden=512, batch_size=100)
    fitting = plan_memory(placed_on(large, hidden=128, batch_size=100)).least
    with pytest.raises(ConfigError, match=r"hidden=128 would fit\.$"):
        check_run(batched, Room(fitting))


def test_a_refusal_offers_a_fanout_where_whole_neighborhoods_do_not_fit() -> None:
    large = planted_graph(SyntheticConfig(num_nodes=20_000, degree=40.0))
    whole, few = placed_on(large, hidden=512), placed_on(large, hidden=512, batch_size=16)
    sampled = plan_memory(placed_on(large, hidden=512, batch_size=16, fanout=10)).least
    assert sampled * 1.2 < min(plan_memory(placed).least for placed in (whole, few))
    tight = Room(int(sampled * 1.2))
    with pytest.raises(
        ConfigError, match=r"batch_size=(\d+) with fanout=10 would fit\.$"
    ) as refusal:
        check_run(whole, tight)
    size = int(str(refusal.value).rpartition("batch_size=")[2].split()[0])
    check_run(placed_on(large, hidden=512, batch_size=size, fanout=10), tight)


def test_an_automatic_batch_size_is_the_whole_graph_where_it_fits_and_else_what_does() -> None:
    large = planted_graph(SyntheticConfig(num_nodes=20_000))
    plan = Plan.of(large, settings={"hidden": 512, "batch_size": "auto", "fanout": 5})
    task = Graphs().place(Plan.of(large)).task
    needed = plan_memory(placed_on(large, hidden=512)).least
    roomy = automatic_batching(plan, task, Room(needed))
    assert (roomy.training.batch_size, roomy.training.fanout) == (None, None)
    assert "trains on the whole graph" in roomy.note
    tight = automatic_batching(plan, task, Room(needed - 1))
    size = tight.training.batch_size
    assert isinstance(size, int)
    assert tight.training.fanout == 5
    assert tight.note.startswith(f"batch_size=auto is {size:,}, which takes about")
    assert plan_memory(placed_on(large, hidden=512, batch_size=size, fanout=5)).least < needed
    with pytest.raises(
        ConfigError, match=r"^No batch_size fits: even batches of 16 .* are free\.$"
    ):
        automatic_batching(plan, task, Room(1000))


@pytest.mark.parametrize("count", [1, 2, 10, 15, 16, 17])
def test_a_graph_with_few_training_nodes_is_refused_an_automatic_batch_size_in_words(
    count: int, data: Data
) -> None:
    plan = Plan.of(data, settings={"batch_size": "auto"})
    task = Graphs().place(Plan.of(data)).task
    few = dataclasses.replace(task, train=task.train[:count])
    tried = {1: 1, 2: 2, 10: 8, 15: 8, 16: 16, 17: 16}[count]
    with pytest.raises(ConfigError, match=rf"even batches of {tried} training nodes") as refusal:
        automatic_batching(plan, few, Room(1000, limit=2000))
    assert refusal.value.topic == "max-memory"


def test_plans_that_share_an_automatic_batch_size_stay_what_they_are(data: Data) -> None:
    graphs, own = Graphs(), NoAugmentation()
    plan = Plan.of(data, settings={"batch_size": "auto"})
    plans = [
        plan,
        dataclasses.replace(plan, seed=7),
        dataclasses.replace(plan, threads=2),
        dataclasses.replace(plan, method=dataclasses.replace(plan.method, instance=own)),
        dataclasses.replace(plan, model=dataclasses.replace(plan.model, name="mine", factory=Own)),
    ]
    for given in plans:
        found = graphs.place(given)
        assert found.plan == dataclasses.replace(given, training=found.plan.training)
        assert found.plan.training.batch_size is None
        assert found.note is not None


@pytest.mark.parametrize("given", [{}, {"fanout": 5}, {"fanout": 5, "batch_hops": 1}])
def test_what_an_automatic_batch_size_says_to_repeat_it_does_repeat_it(
    data: Data, given: dict[str, Any]
) -> None:
    placed = Graphs().place(Plan.of(data, settings={"batch_size": "auto", **given}))
    assert placed.note is not None
    unused = " and ".join(given)
    assert (f"on the whole graph, without {unused}:" in placed.note) == bool(given)
    remedy = placed.note.partition("To repeat or resume it, set batch_size=none")[2]
    assert remedy == (f" and leave out {unused}." if given else ".")
    again = Graphs().place(Plan.of(data, settings={"batch_size": None}))
    assert again.identity(0) == placed.identity(0)


def test_evaluate_tells_what_an_automatic_batch_size_comes_to(data: Data) -> None:
    with pytest.warns(UserWarning, match="batch_size=auto trains on the whole graph: a run takes"):
        gaug.evaluate(data, runs=1, epochs=1, batch_size="auto")


@pytest.mark.parametrize("varied", ["hidden", "split_seed"])
def test_an_automatic_batch_size_is_decided_once_however_many_others_are(
    data: Data, varied: str
) -> None:
    graphs = Graphs()
    plans = [
        Plan.of(data, settings={"batch_size": "auto", varied: number}) for number in range(4, 44)
    ]
    before = [graphs.place(plan).identity(0) for plan in plans]
    set_max_memory(1)  # which would leave no room for any of them
    assert [graphs.place(plan).identity(0) for plan in plans] == before


class Own(torch.nn.Linear):
    """A user-defined module."""


def test_an_automatic_batch_size_is_recorded_as_the_number_that_it_is(data: Data) -> None:
    (record,) = execute(Plan.of(data, settings={"batch_size": "auto", "epochs": 1}), runs=1)
    assert record.config["training"]["batch_size"] is None
    (record,) = execute(Plan.of(data, settings={"batch_size": 5, "epochs": 1}), runs=1)
    assert record.config["training"]["batch_size"] == 5


def test_a_plan_that_does_not_fit_leaves_the_others_alone(trained: list[int]) -> None:
    small = planted_graph(SyntheticConfig(num_nodes=100))
    wide = {"hidden": 1 << 20, "epochs": 1}
    requests = [
        Request(Plan.of(small, settings=wide), range(2)),
        Request(Plan.of(small, settings={"epochs": 1}), range(2)),
    ]
    set_max_memory(held_memory() + 500_000_000)
    found = list(execute_all(requests))
    assert [isinstance(result, GaugError) for _, result in found] == [True, False, False]
    assert len(trained) == 2


def test_as_many_workers_as_fit_beside_what_is_prepared() -> None:
    memory = RunMemory(run=GB, prepare=2 * GB)
    each = worker_memory(memory)
    assert each == GB + WORKER_BYTES
    for most in (1, 2, 4):
        assert workers_in(2 * GB + 2 * each, memory, most) == min(most, 2)
    assert workers_in(2 * GB + 2 * each - 1, memory, 4) == 1
    assert workers_in(0, memory, 4) == 1


def test_workers_are_limited_by_the_limit(data: Data) -> None:
    plan, graphs = Plan.of(data), Graphs()
    memory = plan_memory(graphs.place(plan))
    set_max_memory(held_memory() + memory.prepare + int(2.5 * worker_memory(memory)))
    assert fitting_workers(8, [plan], graphs) == 2
    assert fitting_workers(1, [plan], graphs) == 1
    set_max_memory("1MB")
    assert fitting_workers(8, [plan], graphs) == 1


def test_workers_are_not_limited_by_a_plan_that_cannot_be_run(data: Data) -> None:
    unlabeled = data.clone()
    unlabeled.y = None
    assert fitting_workers(2, [Plan.of(unlabeled)], Graphs()) == 2


def test_jobs_know_what_they_take(data: Data) -> None:
    seen: list[int] = []

    class Watching(ThisProcess):
        def run(self, jobs: Any, on_progress: Any = None, on_note: Any = None) -> Any:
            for job in jobs:
                assert isinstance(job, RunJob)
                seen.append(job.memory)
            return iter(())

    plan = Plan.of(data)
    list(execute_all([Request(plan, range(1))], executor=Watching()))
    assert seen == [plan_memory(Graphs().place(plan)).run]


@dataclasses.dataclass(frozen=True)
class Large:
    """A job that tells from when to when it ran."""

    memory: int = 10 * GB

    def __call__(self, tell: Tell) -> tuple[float, float]:
        begun = time.monotonic()
        sum(range(1_000_000))
        return begun, time.monotonic()


def test_jobs_that_do_not_fit_side_by_side_run_one_after_the_other() -> None:
    set_max_memory(held_memory() + 3 * GB)
    with WorkerProcesses(2) as executor:
        found = [result for _, result in executor.run([Large()] * 6)]
    times = sorted(result for result in found if isinstance(result, tuple))
    assert len(times) == 6
    assert all(ended <= begun for (_, ended), (begun, _) in itertools.pairwise(times))


@dataclasses.dataclass(frozen=True)
class Told:
    """A job that tells how much it may take."""

    memory: int = 0

    def __call__(self, tell: Tell) -> int:
        return held_memory() + Room.left().free


@pytest.mark.parametrize("limited", [False, True])
def test_workers_share_what_may_be_used(limited: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if limited:
        set_max_memory(held_memory() + 3 * GB)
    else:
        monkeypatch.setattr("gaug.memory._spare", lambda: 3 * GB)
    with WorkerProcesses(2) as executor:
        ((_, small),) = executor.run([Told(GB)])
        ((_, unknown),) = executor.run([Told()])
        ((_, alone),) = executor.run([Told(2 * GB)])
    assert small == pytest.approx(1.5 * GB, rel=0.1)
    assert unknown == pytest.approx(1.5 * GB, rel=0.1)
    assert alone == pytest.approx(3 * GB, rel=0.1)  # no other fits beside it


def test_results_do_not_depend_on_the_limit(data: Data) -> None:
    settings: dict[str, Any] = {"runs": 4, "epochs": 3, "method": "gaug-m", "predictor_epochs": 2}
    free = gaug.evaluate(data, **settings)
    set_max_memory(psutil.Process().memory_info().rss + 600_000_000)
    assert gaug.evaluate(data, workers=2, **settings).scores == free.scores
