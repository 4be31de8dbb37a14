"""One training by several processes of a Ray cluster, which Ray Train starts."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch_geometric.data import Data

from gaug.classifier.base import NodeClassifier
from gaug.classifier.graph_info import GraphInfo
from gaug.config import check_count
from gaug.errors import ConfigError, reason_of
from gaug.graph.mapped_graph import MappedGraph
from gaug.methods.method import K, Method
from gaug.runs.ray_calls import cancel, cause_of, checked, machines, pack, versions_here
from gaug.runs.ray_connection import connect, import_ray
from gaug.runs.ray_failures import failure_of, lost
from gaug.telling import warn
from gaug.training.checkpoint import SECONDS_BETWEEN, remove_checkpoint, write_checkpoint
from gaug.training.flaw import FlawError
from gaug.training.progress import OnEpoch, Progress

if TYPE_CHECKING:
    from gaug.runs.ray_rank import RankWork

# How often ranks are started again if one is lost before any of them trains.
_STARTED_AGAIN = 2
# How long each start may wait for CPUs that others use.
_SECONDS_FOR_ROOM = 24 * 60 * 60


def fit_on_cluster(
    method: Method[Any, K],
    data: Data,
    *,
    cluster: str,
    ranks: int,
    info: GraphInfo | None = None,
    threads: int = 1,
    device: str = "cpu",
    on_progress: OnEpoch | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = SECONDS_BETWEEN,
    keep_checkpoint: bool = False,
) -> K:
    """Train once by several processes on a Ray cluster, and return the fitted classifier.

    It is the one that `Method.fit` gives in as many processes without Ray. Needs ``gaug[cluster]``.

    Args:
        method: What to fit.
        data: A graph as for `Method.fit`, on the CPU. It is sent to each machine once.
        cluster: ``auto``, ``host:port`` or ``ray://host:port``.
        ranks: Number of processes. More than one split each batch, so they need a ``batch_size``.
        info: Names of its nodes, classes and features, if any.
        threads: Number of threads of each process, which asks for as many CPUs.
        device: ``cuda`` for a GPU for each process.
        on_progress: Called regularly with the epochs done so far and a note.
        checkpoint: File of this machine that checkpoints are sent to. A later call with the same
            graph and settings goes on from it, and it is removed at the end.
        checkpoint_seconds: How long to train from one checkpoint to the next.
        keep_checkpoint: Whether to leave it there at the end.
    """
    for name, number in {"ranks": ranks, "threads": threads}.items():
        check_count(name, number)
    if device not in ("cpu", "cuda"):
        which = " Leave out the number: Ray gives each process a GPU." if ":" in device else ""
        raise ConfigError(f"On a cluster, device must be cpu or cuda, got {device!r}.{which}")
    method.config.check_ranks(ranks)
    method.training.check_ranks(ranks)
    valid = method.valid_graph(data)
    graph = MappedGraph(**{**valid.to_dict(), "num_nodes": valid.num_nodes})
    file = None if checkpoint is None else Path(checkpoint)
    import_ray("ray.train.torch")
    import ray

    from gaug.runs.ray_rank import RankWork

    connected_here = connect(cluster)
    tell = on_progress or (lambda now: None)
    try:
        each = {"CPU": threads, **({"GPU": 1} if device == "cuda" else {})}
        _check_room(ranks, each)
        begun = None
        if file is not None and file.exists():
            begun = np.frombuffer(file.read_bytes(), np.uint8)
        seconds = None if file is None else checkpoint_seconds
        work = RankWork(
            method, graph, info or GraphInfo(), threads, str(file or ""), begun, seconds
        )
        tell(Progress(0, "starting on the cluster"))
        made = _trained(work, ranks, each, tell, file)
    finally:
        if connected_here:
            ray.shutdown()
    classifier: NodeClassifier = torch.load(io.BytesIO(made), "cpu", weights_only=False)
    if file is not None and not keep_checkpoint:
        remove_checkpoint(file)
    if classifier.summary.warning:
        warn(classifier.summary.warning)
    return cast("K", classifier)


def _check_room(ranks: int, each: Mapping[str, int]) -> None:
    """Raise if the machines that are there have no room for so many processes."""
    room = sum(
        min(int(machine.get(name, 0) // amount) for name, amount in each.items())
        for machine in machines()
    )
    if ranks > room:
        wanted = " and ".join(f"{amount} {name}" for name, amount in each.items())
        raise ConfigError(
            f"The cluster has room for {room} processes with {wanted} each, got {ranks} ranks. Use"
            " fewer ranks or threads, or add machines."
        )


def _trained(
    work: RankWork, ranks: int, each: Mapping[str, int], tell: OnEpoch, file: Path | None
) -> bytes:
    """The classifier that the first rank sends; checkpoints go to the file."""
    import ray
    from ray.exceptions import RayError, RayTaskError
    from ray.util.queue import Queue

    from gaug.runs.object_store import ObjectStore

    news = Queue(actor_options={"num_cpus": 0})
    packed, references = pack(ObjectStore(), work)
    run = checked("gaug.runs.ray_rank", "train_as_rank")
    lead = ray.remote(num_cpus=0, max_retries=0)(_lead())
    training = lead.remote(run, (versions_here(), packed, references, news), ranks, dict(each))
    made = b""
    try:
        ended = False
        while not ended:
            ended = bool(ray.wait([training], timeout=0.2)[0])
            for kind, item in news.get_nowait_batch(news.qsize()):
                if kind == "progress":
                    tell(item)
                elif kind == "classifier":
                    made = item
                elif file is not None:
                    _keep(item, file)
        ray.get(training)
    except RayTaskError as error:
        failure = failure_of(cause_of(error), file)
        if isinstance(failure, FlawError) and file is not None:
            remove_checkpoint(file)
        raise failure from error
    except RayError as error:
        raise lost(reason_of(error), file) from error
    finally:
        cancel([training])
    return made


def _keep(checkpoint: bytes, file: Path) -> None:
    try:
        write_checkpoint(file, lambda out: out.write(checkpoint))
    except OSError as error:  # costs the checkpoint, not the training
        warn(f"No checkpoint could be written to {file.parent} ({reason_of(error)}).")


def _lead() -> Callable[..., None]:
    """What starts the ranks and waits for them; a function whose code Ray sends, as `checked`.

    It is done on the cluster, because Ray Train replaces the handler of Ctrl-C of its process, and
    because a caller that is no part of the cluster cannot do it.
    """

    def lead(run: Callable[..., None], sent: Any, ranks: int, each: dict[str, float]) -> None:
        import dataclasses
        import os
        import tempfile

        os.environ["RAY_TRAIN_V2_ENABLED"] = "1"
        # After a minute without room, Ray Train would count a failed start.
        os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", str(_SECONDS_FOR_ROOM))
        from ray import train
        from ray.train.torch import TorchConfig, TorchTrainer

        # Two of these are without limit by default. Older versions lack the last.
        retries: dict[str, Any] = {
            "max_failures": 0,
            "controller_failure_limit": _STARTED_AGAIN,
            "max_preemption_failures": 0,
        }
        known = {field.name for field in dataclasses.fields(train.FailureConfig)}
        failures = train.FailureConfig(**{name: retries[name] for name in retries.keys() & known})
        with tempfile.TemporaryDirectory(prefix="gaug-") as scratch:
            TorchTrainer(
                lambda: run(*sent),
                # The ranks make groups of their own for what GPUs send.
                torch_config=TorchConfig(backend="gloo"),
                scaling_config=train.ScalingConfig(
                    num_workers=ranks,
                    use_gpu="GPU" in each,
                    resources_per_worker=each,
                    placement_strategy="SPREAD",
                ),
                run_config=train.RunConfig(storage_path=scratch, failure_config=failures),
            ).fit()

    return lead
