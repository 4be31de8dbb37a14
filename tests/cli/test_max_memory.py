"""--max-memory: runs are refused or spread over fewer workers, with one line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gaug.cli.executor import workers_that_fit
from gaug.cli.memory_words import tell_memory
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.memory import held_memory, max_memory, set_max_memory
from gaug.methods.run_memory import RunMemory
from gaug.pairs.blocks import usual_block
from gaug.runs.graphs import Graphs
from gaug.runs.memory import plan_memory, worker_memory
from gaug.runs.plan import Plan

GB = 10**9
SHORT = ("--split", "stratified", "--set", "epochs=2")


@pytest.fixture(autouse=True)
def no_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("GAUG_MAX_MEMORY", "")
    set_max_memory(None)
    yield
    set_max_memory(None)


@pytest.fixture
def karate() -> RunMemory:
    return plan_memory(Graphs().place(Plan.of("karate", split="stratified")))


def test_a_run_that_does_not_fit_is_refused_in_one_line_with_the_option(
    gaug: Callable[..., Any], no_training: None
) -> None:
    result = gaug("train", "karate", *SHORT, "--max-memory", "100MB")
    assert result.code == 2
    assert result.err.startswith("gaug: A run of gcn, none needs about ")
    assert result.err.endswith(" Or raise --max-memory.\n")
    assert "0 MB of the 100 MB of max_memory are left." in result.err
    assert result.err.count("\n") == 1
    assert result.out == ""


def test_a_fit_that_does_not_fit_is_refused(
    gaug: Callable[..., Any], no_training: None, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    result = gaug("fit", "karate", "--out", out, "--max-memory", "100MB", "--quiet")
    assert result.code == 2
    assert result.err.startswith("gaug: A run of gcn, none needs about ")
    assert not out.exists()


def test_a_ranking_that_does_not_fit_is_refused(gaug: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "better"
    result = gaug("augment", "karate", "--out", out, "--max-memory", "100MB", "--quiet")
    assert result.code == 2
    assert result.err.startswith("gaug: Ranking all pairs needs about ")
    assert not out.exists()


def test_the_limit_of_the_environment_counts_and_the_option_goes_first(
    gaug: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUG_MAX_MEMORY", "100MB")
    assert gaug("train", "karate", *SHORT, "--runs", 1, "--quiet").code == 2
    assert gaug("train", "karate", *SHORT, "--runs", 1, "--max-memory", "1TB", "--quiet").code == 0
    assert os.environ["GAUG_MAX_MEMORY"] == str(10**12)


@pytest.mark.parametrize("command", ["train", "search", "reproduce"])
def test_a_limit_of_this_machine_is_refused_for_runs_on_a_cluster(
    gaug: Callable[..., Any], no_training: None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = "figure1" if command == "reproduce" else "karate"
    result = gaug(command, what, "--cluster", "head:6379", "--max-memory", "900MB")
    assert result.code == 2
    assert result.out == ""
    assert result.err == (
        "gaug: --max-memory limits this machine, and runs on a cluster go by the memory of its"
        " machines, got 900MB and the cluster head:6379. Leave it out, or limit the machines: ray"
        " start --memory BYTES.\n"
    )
    monkeypatch.setenv("GAUG_CLUSTER", "head:6379")
    assert gaug(command, what, "--max-memory", "900MB").err == result.err
    set_max_memory("900MB")  # in the environment it may be for other commands
    wrong = ("--format" if command == "reproduce" else "--model", "nonsense")
    assert "'nonsense'" in gaug(command, what, "--cluster", "head:6379", *wrong).err


def test_a_limit_counts_for_what_is_done_here_before_a_ranking_on_a_cluster(
    gaug: Callable[..., Any], tmp_path: Path
) -> None:
    where = ("--out", tmp_path / "better", "--cluster", "head:6379")
    result = gaug("augment", "karate", *where, "--max-memory", "100MB", "--quiet")
    assert result.code == 2
    assert result.err.startswith("gaug: Ranking all pairs needs about ")


def test_fewer_workers_are_told_in_one_line(
    karate: RunMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, graphs = Plan.of("karate", split="stratified"), Graphs()
    set_max_memory(held_memory() + karate.prepare + worker_memory(karate) + 200_000_000)
    assert workers_that_fit(2, [plan], graphs, quiet=False) == 1
    told = capsys.readouterr().err
    assert told.startswith("gaug: 1 worker instead of 2: a worker takes about ")
    assert told.endswith(" MB may be used (--max-memory).\n")
    assert told.count("\n") == 1
    assert workers_that_fit(2, [plan], graphs, quiet=True) == 1
    assert capsys.readouterr().err == ""


def test_under_a_limit_one_line_says_what_was_picked_and_without_one_nothing(
    karate: RunMemory, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = Plan.of("karate", split="stratified")
    assert workers_that_fit(2, [plan], Graphs(), quiet=False) == 2
    assert capsys.readouterr().err == ""
    set_max_memory(held_memory() + karate.prepare + 3 * worker_memory(karate))
    assert workers_that_fit(2, [plan], Graphs(), quiet=False) == 2
    assert re.fullmatch(
        r"gaug: 2 workers: a worker takes about \d+ MB and [\d.,]+ .B may be used"
        r" \(--max-memory\)\.\n",
        capsys.readouterr().err,
    )
    assert max_memory() is not None


def test_batch_size_and_engine_are_told_in_one_line(gaug: Callable[..., Any]) -> None:
    settings = ("--set", "pretrain_predictor_epochs=1", "--set", "pretrain_classifier_epochs=1")
    chosen = ("--method", "gaug-o", "--set", "batch_size=auto", *settings)
    result = gaug("train", "karate", *SHORT, *chosen, "--runs", 1, "--max-memory", "1TB")
    (line,) = (line for line in result.err.splitlines() if "takes about" in line)
    assert line.startswith("gaug: batch_size=auto trains on the whole graph: a run takes about ")
    assert line.endswith(" engine=auto is blocked, by the number of nodes and the settings.")


def test_a_fit_tells_it_too(gaug: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "model"
    result = gaug("fit", "karate", "--out", out, "--set", "epochs=2", "--max-memory", "1TB")
    assert "gaug: 1 worker: a run takes about " in result.err
    assert result.err.count("takes about") == 1


def test_smaller_blocks_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=100_000, degree=1.0, num_features=16))
    settings = {"predictor": "gae", "hidden": 4}
    plan, graphs = Plan.of(data, method="gaug-m", settings=settings), Graphs()
    least, usual = plan_memory(graphs.place(plan)).least, usual_block(100_000)
    for free in (least + 50_000_000, 10 * GB):
        set_max_memory(held_memory() + free)
        tell_memory([plan], graphs)
        found = re.search(
            rf"All pairs are ranked by about ([\d,]+) at a time instead of {usual:,}: an eighth",
            capsys.readouterr().err,
        )
        assert (found is None) == (free == 10 * GB)
        assert found is None or int(found[1].replace(",", "")) < usual


def test_where_no_batch_fits_only_the_refusal_is_told(gaug: Callable[..., Any]) -> None:
    batches = ("--set", "batch_size=auto", "--set", "fanout=2")
    result = gaug("train", "karate", *SHORT, *batches, "--max-memory", "100MB", "--runs", 8)
    assert result.err.startswith("gaug: No batch_size fits: ")
    assert result.err.count("\n") == 1


def test_drawn_graphs_that_may_not_fit_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=9000, num_classes=3, num_features=16))
    asked = {"alpha": 1.0, "engine": "blocked"}
    plan, graphs = Plan.of(data, method="gaug-o", settings=asked), Graphs()
    memory = plan_memory(graphs.place(plan))
    for free, told in ((memory.least + 50_000_000, True), (memory.peak + 50_000_000, False)):
        set_max_memory(held_memory() + free)
        tell_memory([plan], graphs)
        found = capsys.readouterr().err
        assert ("The graphs that GAug-O draws may not fit" in found) == told
        assert found.count("\n") == 1
