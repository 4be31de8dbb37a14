"""One training by several processes of a Ray cluster."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import psutil
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
from gaug.runs.ray_training import fit_on_cluster
from gaug.training.progress import Progress
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
    copy = shutil.copy(file, tmp_path / "copy")
    (tmp_path / "fit.1234567.draft").touch()  # of a caller that was killed while it wrote
    seen.clear()
    found = fit()
    assert min(now for now in seen if now) > 2
    assert found.summary.epochs == 8
    for name, weight in expected.items():
        assert torch.equal(weights(found)[name], weight)
    assert list(tmp_path.glob("fit.*")) == []
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


def test_ray_without_what_trains_is_told_before_a_cluster_is_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("ray", reason="needs Ray: pip install 'gaug[cluster]'")
    monkeypatch.delitem(sys.modules, "gaug.runs.ray_rank", raising=False)
    monkeypatch.setitem(sys.modules, "ray.train.torch", None)
    with pytest.raises(ConfigError, match=r"pip install 'gaug\[cluster\]'"):
        fit_on_cluster(method(tmp_path), club(), cluster="127.0.0.1:1", ranks=2)


class Stuffed(nn.Module):
    """A layer on whose machine there is no space for checkpoints of the fit with a mark."""

    def __init__(self, in_features: int, num_classes: int, *, mark: bytes) -> None:
        super().__init__()
        self.layer = GCNConv(in_features, num_classes)
        for file in Path(tempfile.gettempdir()).glob("gaug-*/fit.checkpoint"):
            draft = file.with_name(f"fit.{os.getpid()}.draft")
            if file.read_bytes() == mark and not draft.is_symlink():
                draft.symlink_to("/dev/full")

    def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> Tensor:
        return torch.as_tensor(self.layer(x, edge_index, edge_weight))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_checkpoint_that_cannot_be_used_is_told_by_its_place(
    on_cluster: Executor, cluster: Any, tmp_path: Path
) -> None:
    file = tmp_path / "fit.checkpoint"
    mark = os.fsencode(tmp_path)
    file.write_bytes(mark)
    model = functools.partial(Stuffed, mark=mark)
    with pytest.warns(UserWarning, match="is damaged") as told:
        found = fit_on_cluster(
            DropEdge(model=model, epochs=1),
            club(),
            cluster=cluster.address,
            ranks=1,
            checkpoint=file,
            checkpoint_seconds=0,
        )
    words = str(told[0].message)
    assert words == found.summary.warning
    assert f"The checkpoint {file} is damaged" in words
    assert f"No checkpoint could be written to {tempfile.gettempdir()} on " in words
    assert "gaug-" not in words


class Unreadable(nn.Module):
    """A layer that one process cannot read."""

    def __init__(self, in_features: int, num_classes: int, *, process: int) -> None:
        super().__init__()
        self.layer = GCNConv(in_features, num_classes)
        self.process = process

    def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> Tensor:
        return torch.as_tensor(self.layer(x, edge_index, edge_weight))

    def __setstate__(self, state: dict[str, Any]) -> None:
        if os.getpid() == state["process"]:
            raise ZeroDivisionError
        super().__setstate__(state)


def test_the_checkpoint_is_kept_until_the_classifier_is_read(
    on_cluster: Executor, cluster: Any, tmp_path: Path
) -> None:
    file = tmp_path / "fit.checkpoint"
    model = functools.partial(Unreadable, process=os.getpid())
    with pytest.raises(ZeroDivisionError):
        fit_on_cluster(
            DropEdge(model=model, epochs=2),
            club(),
            cluster=cluster.address,
            ranks=1,
            checkpoint=file,
            checkpoint_seconds=0,
        )
    assert file.exists()


def test_a_drained_machine_ends_the_training_although_there_is_another(
    on_cluster: Executor, cluster: Any, tmp_path: Path
) -> None:
    machine = next(iter(cluster.worker_nodes))
    seen: list[float] = [0]
    drained: list[subprocess.Popen[bytes]] = []

    def drain(now: Progress) -> None:
        assert now.epochs >= seen[-1], "it was started again"
        seen.append(now.epochs)
        if now.epochs > 0 and not drained:
            whose = ("--address", cluster.address, "--node-id", machine.node_id)
            why = ("--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "it is wanted")
            command = (sys.executable, "-m", "ray.scripts.scripts", "drain-node", *whose, *why)
            cluster.add_node(num_cpus=1, object_store_memory=100_000_000, include_dashboard=False)
            drained.append(subprocess.Popen([*command, "--deadline-remaining-seconds", "1"]))

    try:
        with pytest.raises(TrainingError, match=r"^The machine of rank \d was drained.*goes on"):
            fit_on_cluster(
                DropEdge(epochs=1_000_000, batch_size=7),
                club(),
                cluster=cluster.address,
                ranks=2,
                on_progress=drain,
                checkpoint=tmp_path / "fit.checkpoint",
                checkpoint_seconds=0,
            )
    finally:
        for process in drained:
            process.wait()
        cluster.remove_node(machine)


def test_ranks_that_always_die_while_they_start_are_not_started_again_for_ever(
    on_cluster: Executor, cluster: Any, tmp_path: Path
) -> None:
    killed: set[int] = set()
    ended = threading.Event()

    def kill_ranks() -> None:
        while not ended.wait(0.1) and len(killed) < 6:
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if "TrainWorker" in process.name() and process.pid not in killed:
                        process.kill()
                        killed.add(process.pid)

    killer = threading.Thread(target=kill_ranks)
    killer.start()
    try:
        with pytest.raises(TrainingError, match="could not start the processes"):
            fit_on_cluster(DropEdge(epochs=1), club(), cluster=cluster.address, ranks=1)
    finally:
        ended.set()
        killer.join()
    assert len(killed) == 3
