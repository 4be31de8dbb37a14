"""What does not fit is refused with the figures, before it is begun."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch
import torch.utils._pytree as pytree
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import gaug
from gaug import GATConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.gaug_o.learned_edges import LearnedEdges
from gaug.methods.gaug_o.memory import SampleRoom, check_settings, edge_bytes
from gaug.methods.gaug_o.method import GAugO
from gaug.models.spec import ModelSpec
from gaug.pairs.tiles import TILE
from gaug.training.run import PreparedRuns
from gaug.training.task import Task

Free = Callable[[float], None]


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Free:
    """Sets how many bytes are free."""

    def set_free(available: float) -> None:
        few = SimpleNamespace(available=available + 200_000_000)  # the margin that is left
        monkeypatch.setattr(psutil, "virtual_memory", lambda: few)

    return set_free


class Module(nn.Module):
    """A module of a user's."""


@pytest.mark.parametrize(
    ("model", "settings", "bytes_a_pair"),
    [
        ("gcn", {"edge_probability": "sigmoid", "alpha": 1.0}, 48),
        ("gcn", {"edge_probability": "sigmoid", "alpha": 0.5}, 24),
        ("gat", {"edge_probability": "sigmoid", "alpha": 1.0}, 800),
        (Module, {"edge_probability": "sigmoid", "alpha": 1.0}, 2400),
        (Module, {"variant": "no-sampling"}, 4800),
        ("gcn", {"engine": "dense"}, 128),
        ("gcn", {"engine": "dense", "variant": "no-sampling"}, 128),  # in its edge loss
        ("gcn", {"engine": "dense", "alpha": 0.0}, 128),
        ("gcn", {"edge_probability": "sigmoid", "alpha": 0.0}, 0),
        ("gcn", {"edge_probability": "sigmoid", "variant": "random"}, 0),
        (Module, {}, 0),
        ("gat", {"variant": "no-sampling"}, 0),
    ],
    ids=str,
)
def test_settings_are_refused_where_what_they_hold_of_all_pairs_does_not_fit(
    model: Any, settings: dict[str, Any], bytes_a_pair: int, free: Free
) -> None:
    config, choice = GAugOConfig(**settings), ModelSpec.of(model)
    needed = bytes_a_pair * 60**2 / 2
    free(needed)
    check_settings(config, 60, choice)
    if bytes_a_pair:
        free(needed - 1)
        with pytest.raises(ConfigError, match=r"needs about \d MB for 60 nodes"):
            check_settings(config, 60, choice)


def test_a_refusal_has_the_figures_and_a_remedy(free: Free) -> None:
    free(1e9)
    message = (
        r"engine=dense needs about 6\.4 GB for 10,000 nodes, and 1\.0 GB are free\."
        r" Use engine=auto\."
    )
    with pytest.raises(ConfigError, match=message):
        check_settings(GAugOConfig(engine="dense"), 10_000)
    message = (
        r"A sampled graph of about 20,000,000 edges needs about 1\.9 GB for 10,000 nodes, and"
        r" 1\.0 GB are free\. Lower alpha, or "
    )
    with pytest.raises(ConfigError, match=message):
        SampleRoom().check(2e7, 10_000, edge_bytes(), "blocked")
    with pytest.raises(ConfigError, match="use a lower max_sampled_edges or a batch_size"):
        SampleRoom().check(2e7, 10_000, edge_bytes(), "sparse")


def test_memory_that_was_kept_of_an_earlier_sample_is_used_again(
    free: Free, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that holds 1 GB more takes no more for the next sample of the same size."""
    held = {"bytes": 5e8}
    monkeypatch.setattr("gaug.methods.gaug_o.memory.held_memory", lambda: int(held["bytes"]))
    room, edges = SampleRoom(), 1e7
    free(1e9)
    room.check(edges, 10_000, edge_bytes(), "sparse")  # 0.96 GB
    free(1e8)
    held["bytes"] += 0.9e9
    room.check(edges, 10_000, edge_bytes(), "sparse")
    with pytest.raises(ConfigError, match=r"and 1\.0 GB are free"):
        room.check(1.1 * edges, 10_000, edge_bytes(), "sparse")
    with pytest.raises(ConfigError, match="and 100 MB are free"):
        SampleRoom().check(edges, 10_000, edge_bytes(), "sparse")


def test_attention_takes_memory_for_each_of_its_heads() -> None:
    few, many = (ModelSpec.of(GATConfig(heads=heads)) for heads in (8, 17))
    assert edge_bytes(few) == 1600
    assert edge_bytes(many) == 3200  # 18 heads against 9
    assert edge_bytes(ModelSpec.of(GATConfig(layers=3))) == 1600 * 17 // 9


def test_attention_is_refused_smaller_graphs_and_a_users_module_no_smaller_ones() -> None:
    summed, attended, users = (edge_bytes(ModelSpec.of(model)) for model in ("gcn", "gat", Module))
    assert edge_bytes() == summed == users == edge_bytes(ModelSpec.of("jknet"))
    assert summed < attended


@pytest.mark.parametrize("model", ["gcn", "gat"])
def test_a_sample_is_refused_before_it_is_drawn_where_it_would_not_fit(
    model: str, free: Free
) -> None:
    """All embeddings are the same, so that all pairs are as likely as can be."""
    alike = torch.ones(100, 1)
    bare = Adjacency.of_pairs(torch.tensor([[0], [1]]), 100)
    config, bytes_each = GAugOConfig(alpha=0.5), edge_bytes(ModelSpec.of(model))
    learned = LearnedEdges.of(config, alike, bare, bytes_each)
    expected = 0.5 * 4950 + 0.5
    free(bytes_each * expected)
    assert learned.sample(0).num_pairs == pytest.approx(expected, abs=5 * 35)  # 5 deviations
    free(bytes_each * expected - 1)
    with pytest.raises(ConfigError, match="A sampled graph of about 2,476 edges needs"):
        learned.sample(0)


def test_a_fitted_attention_draws_graphs_that_fit_without_it(free: Free, tmp_path: Path) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, num_classes=3, degree=5.0))
    short: dict[str, Any] = {
        "epochs": 2,
        "pretrain_predictor_epochs": 2,
        "pretrain_classifier_epochs": 2,
    }
    fitted = GAugO(model="gat", alpha=0.3, **short).fit(data)
    fitted.save(tmp_path / "model")
    free(1000 * edge_bytes())
    loaded = gaug.load(tmp_path / "model")
    assert isinstance(loaded, type(fitted))
    assert torch.equal(fitted.sample_graph(1).edge_index, loaded.sample_graph(1).edge_index)


@pytest.mark.parametrize("model", ["gcn", "gat"])
def test_training_stops_with_the_figures_where_samples_grow_too_large(
    model: str, free: Free
) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, num_classes=3, degree=5.0))
    split = make_split(data, "stratified").apply(data)
    short: dict[str, Any] = {
        "epochs": 3,
        "pretrain_predictor_epochs": 2,
        "pretrain_classifier_epochs": 2,
    }
    method = GAugO(model=model, alpha=0.3, **short)
    runs = PreparedRuns.prepare(Task.of(split), method.model, method, method.training)
    # The graph itself has 150 edges, of which 105 are kept on average.
    free(100 * edge_bytes(method.model))
    with pytest.raises(ConfigError, match=r"A sampled graph of about \d+ edges needs"):
        runs.train(0)


class Largest(TorchDispatchMode):
    """Notes how many numbers the largest tensor has that is made."""

    largest = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in pytree.tree_leaves(result):
            if isinstance(value, torch.Tensor):
                # A sparse matrix has as many numbers as entries, whatever its shape.
                size = value.numel() if value.layout == torch.strided else value._nnz()
                self.largest = max(self.largest, size)
        return result


@pytest.mark.parametrize("variant", ["full", "no-sampling", "rounding", "random"])
@pytest.mark.parametrize("model", ["gcn", "gsage", "jknet"])
def test_no_tensor_of_a_run_has_a_number_for_each_pair(model: str, variant: str) -> None:
    """A fit and its judgement: the largest are tiles of pairs and the edges of samples."""
    data = planted_graph(SyntheticConfig(num_nodes=2000, num_classes=3, degree=5.0))
    split = make_split(data, "stratified").apply(data)
    short: dict[str, Any] = {
        "epochs": 2,
        "pretrain_predictor_epochs": 2,
        "pretrain_classifier_epochs": 1,
    }
    with Largest() as made:
        alpha = 0.05 if variant == "full" else 0.6
        GAugO(model=model, hidden=16, variant=variant, alpha=alpha, **short).fit(split)
    assert TILE**2 <= made.largest < 2000**2 / 4
    with Largest() as dense:
        GAugO(engine="dense", alpha=0.05, **short).fit(split)
    assert dense.largest >= 2000**2
