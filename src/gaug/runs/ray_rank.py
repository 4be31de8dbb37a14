"""What one of several processes that Ray Train has started does: it trains as a rank."""

from __future__ import annotations

import dataclasses
import io
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import torch.distributed as dist
from ray import cloudpickle
from ray.train.torch import get_device

from gaug.classifier.base import NodeClassifier
from gaug.classifier.graph_info import GraphInfo
from gaug.graph.mapped_graph import MappedGraph
from gaug.methods.method import Method
from gaug.runs.object_store import unpack
from gaug.runs.throttle import Throttle
from gaug.training.progress import Progress


@dataclass(frozen=True)
class RankWork:
    """What all ranks are sent.

    Attributes:
        method: What to fit.
        graph: The graph to fit it to.
        info: Names of its nodes, classes and features.
        threads: Threads of each rank.
        file: The caller's file of the checkpoint, which is named if it cannot be used.
        checkpoint: The bytes of a checkpoint to go on from, if there is one.
        seconds: How long to train from one checkpoint to the next; None: without checkpoints.
    """

    method: Method[Any, Any]
    graph: MappedGraph
    info: GraphInfo
    threads: int
    file: str
    checkpoint: np.ndarray | None
    seconds: float | None


def train_as_rank(packed: bytes, references: Sequence[Any], news: Any) -> None:
    """Train; the first rank sends the classifier to the caller.

    Args:
        packed: The work.
        references: What it needs from the object store.
        news: A queue of Ray's on which the first rank sends what there is to tell: pairs of
            ``"progress"`` and a `Progress`, or of ``"checkpoint"`` or ``"classifier"`` and bytes.
    """
    work: RankWork = unpack(packed, ray.get(list(references)))
    graph = work.graph.to(str(get_device()))
    if dist.get_rank() > 0:
        work.method.fit(graph, threads=work.threads)
        return
    with tempfile.TemporaryDirectory(prefix="gaug-") as folder:
        file = Path(folder, "fit.checkpoint")
        if work.checkpoint is not None:
            file.write_bytes(work.checkpoint.tobytes())
        saving: dict[str, Any] = {}
        if work.seconds is not None:
            saving = {"checkpoint": file, "checkpoint_seconds": work.seconds}
        classifier = work.method.fit(
            graph, info=work.info, threads=work.threads, on_progress=_Teller(news, file), **saving
        )
    _name_files_of_caller(classifier, file, work.file)
    made = io.BytesIO()
    # PyTorch's own format, because the caller may have no GPU to read tensors of one into.
    torch.save(classifier, made, pickle_module=cloudpickle, pickle_protocol=5)
    news.put(("classifier", made.getvalue()))


def _name_files_of_caller(classifier: NodeClassifier, file: Path, of_caller: str) -> None:
    """Let the warning of a fit name what the caller can find, not a folder that is gone by then.

    Args:
        classifier: The result of the fit, which is changed.
        file: The checkpoint here.
        of_caller: The caller's file, which it is a copy of.
    """
    warning = classifier.summary.warning
    if warning is None:
        return
    here = f"{file.parent.parent} on {socket.gethostname()}"
    warning = warning.replace(str(file), of_caller).replace(str(file.parent), here)
    summary = dataclasses.replace(classifier.summary, warning=warning)
    classifier.fitted = dataclasses.replace(classifier.fitted, summary=summary)


class _Teller:
    """Tells the caller how far the training is, and sends each new checkpoint."""

    def __init__(self, news: Any, file: Path) -> None:
        self._news = news
        self._file = file
        self._sent = self._version()
        self._throttle = Throttle()

    def __call__(self, now: Progress) -> None:
        if self._version() != self._sent:
            self._sent = self._version()
            self._news.put(("checkpoint", self._file.read_bytes()))
        if self._throttle.passes():
            self._news.put(("progress", now))

    def _version(self) -> tuple[int, int] | None:
        if not self._file.exists():
            return None
        found = self._file.stat()
        return found.st_mtime_ns, found.st_ino
