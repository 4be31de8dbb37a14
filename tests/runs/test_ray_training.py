"""One training by several processes of a Ray cluster."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gaug import load_graph
from gaug.errors import ConfigError, TrainingError
from gaug.methods.dropedge.method import DropEdge
from gaug.runs.executor import Executor
from gaug.runs.ray_training import failure_of, fit_on_cluster
from gaug.training.ranks import RankLostError
from tests.training.together import together


class Mortal(nn.Module):
    """A layer with dropout that kills the second rank in the fifth epoch, but only once."""

    def __init__(self, in_features: int, num_classes: int, *, mark: Path) -> None:
        super().__init__()
        self.layer = GCNConv(in_features, num_classes)
        self.mark = mark
        self.steps = 0

    def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> Tensor:
        self.steps += self.training
        if self.steps > 4 * 4 and not self.mark.exists() and dist.get_rank() == 1:
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        dropped = nn.functional.dropout(x, 0.5, self.training)
        return torch.as_tensor(self.layer(dropped, edge_index, edge_weight))


def club() -> Data:
    """The Karate Club with features that no other machine can know."""
    data = load_graph("karate")
    data.x = torch.rand(34, 600, generator=torch.Generator().manual_seed(7))
    return data


def method(mark: Path) -> DropEdge:
    """27 training nodes: four steps per epoch."""
    model = functools.partial(Mortal, mark=mark)
    return DropEdge(model=model, epochs=8, batch_size=7, validate_every=1, seed=3)


def fit_of_two(rank: int, folder: Path) -> dict[str, Tensor]:
    return weights(method(folder).fit(club()))  # the folder is there, so nobody dies


def weights(classifier: Any) -> dict[str, Tensor]:
    return dict(classifier.fitted.network.state_dict())


def test_a_lost_rank_is_told_and_the_same_call_goes_on_to_the_weights_of_ranks_without_ray(
    on_cluster: Executor, cluster: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "alone"
    folder.mkdir()
    expected, _ = together(2, fit_of_two, folder)
    file = tmp_path / "fit.checkpoint"
    seen: list[float] = []
    fit = functools.partial(
        fit_on_cluster,
        method(tmp_path / "mark"),
        club(),
        cluster=cluster.address,
        ranks=2,
        on_progress=lambda now: seen.append(now.epochs),
        checkpoint=file,
        checkpoint_seconds=0,
    )
    with pytest.raises(
        TrainingError, match=r"\(rank 1\).*goes on from the last checkpoint"
    ) as lost:
        fit()
    assert "\n" not in str(lost.value)
    assert time.time() - (tmp_path / "mark").stat().st_mtime < 60  # since it was killed
    copy = shutil.copy(file, tmp_path / "copy")
    seen.clear()
    found = fit()
    assert min(now for now in seen if now) > 2
    assert found.summary.epochs == 8
    for name, weight in expected.items():
        assert torch.equal(weights(found)[name], weight)
    assert not file.exists()
    seen.clear()  # one process without Ray goes on from it, too
    fit.args[0].fit(club(), checkpoint=copy, on_progress=fit.keywords["on_progress"])
    assert min(seen) > 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"ranks": 3}, "room for 2 processes with 1 CPU each, got 3 ranks"),
        ({"threads": 2}, "room for 0 processes with 2 CPU each"),
        ({"device": "cuda"}, "room for 0 processes with 1 CPU and 1 GPU each"),
        ({"ranks": 0}, "ranks must be at least 1, got 0"),
        ({"ranks": 8}, "at least the number of processes, 8, .* got 7"),
    ],
)
def test_ranks_for_which_there_is_no_room_or_no_batch_are_refused(
    on_cluster: Executor, cluster: Any, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    options = {"cluster": cluster.address, "ranks": 2, **changes}
    with pytest.raises(ConfigError, match=words):
        fit_on_cluster(method(tmp_path), club(), **options)


class OfRayError(Exception):
    """A lost process, as Ray tells it."""

    __module__ = "ray.train"


class OfRanksError(Exception):
    """What Ray Train raises for its ranks."""

    def __init__(self, **failures: Exception) -> None:
        self.worker_failures = {int(rank[1:]): failure for rank, failure in failures.items()}


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OfRanksError(r0=RankLostError("it"), r1=ConfigError("own")), ConfigError, "^own$"),
        (OfRanksError(r0=OfRayError(), r1=ZeroDivisionError("own")), ZeroDivisionError, "^own$"),
        (OfRanksError(r1=ImportError("gaug 2 there")), ConfigError, "lacks .* gaug 2 there"),
        (OfRanksError(r0=RankLostError("it"), r2=OfRayError()), TrainingError, r"lost \(rank 2\)"),
        (OfRanksError(r0=RankLostError("it")), TrainingError, r"lost \(rank 0\)"),
    ],
)
def test_what_a_rank_raised_itself_comes_before_the_loss_of_others(
    error: Exception, kind: type[Exception], words: str
) -> None:
    found = failure_of(error)
    assert type(found) is kind
    assert re.search(words, str(found))
