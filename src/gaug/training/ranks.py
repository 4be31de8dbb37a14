"""What a process is among those that train together, and what these tell one another.

One training may be split among several processes, called ranks as in `torch.distributed`. Each
takes a part of the training nodes of every step. Gradients are averaged, so that all ranks have the
same weights; the first rank validates, predicts, prints and writes. The loop calls the functions of
`Ranks`, which do nothing for a process alone.

Gradients go through one ``all_reduce`` a step. `DistributedDataParallel` would wrap one module that
is called once a step; here a step may pass over the classifier several times and over a module of
the method, of which only some parameters have a gradient. Its gain, sending while the backward pass
goes on, is small: a GNN has few parameters.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gaug.errors import ConfigError, GaugError, TrainingError, reason_of
from gaug.seeding import run_seed

T = TypeVar("T")

# A process that ends is noticed at once, by its closed connections; only a machine that vanishes
# takes this long. Ranks reach a step at nearly the same time.
_LONGEST_STEP = timedelta(minutes=5)
# The first rank may rank all pairs, or validate on a large graph, while the others wait.
_LONGEST_WAIT = timedelta(days=7)


class RankLostError(TrainingError):
    """Another of the processes that train together has ended or cannot be reached."""


class Ranks:
    """A process that trains alone: the first rank of one."""

    rank = 0
    size = 1

    @property
    def is_first(self) -> bool:
        """Whether this process validates, predicts and writes."""
        return self.rank == 0

    def part(self, nodes: Tensor) -> Tensor:
        """Those of the training nodes of a step that this rank takes."""
        return nodes

    def share(self, count: int) -> float:
        """How much the part of this rank counts in a step of so many training nodes."""
        return 1.0

    def mean(self, values: Sequence[float], share: float) -> list[float]:
        """The means over all ranks of some numbers, weighted by their shares."""
        return list(values)

    def average_gradients(self, parameters: Iterable[nn.Parameter], share: float) -> None:
        """Replace all gradients by their means over all ranks, weighted by their shares."""

    def take_over(self, tensors: Iterable[Tensor]) -> None:
        """Replace some tensors by those of the first rank."""

    def of_first(self, make: Callable[[], T]) -> T:
        """What the first rank makes, or the error that it raises. The others wait for it.

        Args:
            make: Makes something that can be pickled; only called on the first rank.
        """
        return make()

    def gathered(self, value: T) -> list[T]:
        """The values of all ranks."""
        return [value]

    def check_same(self, what: str, value: str) -> None:
        """Raise on all ranks unless all have the same.

        Args:
            what: What it is, for the message.
            value: What this rank has.
        """
        values = self.gathered(value)
        for rank, other in enumerate(values):
            if other != values[0]:
                raise ConfigError(
                    f"All processes must have the same {what}, got {values[0]} on rank 0 and"
                    f" {other} on rank {rank}."
                )

    def draw_anew(self, generator: torch.Generator, key: Sequence[int]) -> None:
        """Begin new random streams for dropout and the method, except on the first rank.

        Ranks must not draw the same numbers for different nodes. Because the streams of the others
        depend on the key alone, a checkpoint need not hold them.

        Args:
            generator: The random stream of the method.
            key: What is about to be drawn for: whole numbers, not negative.
        """


class PeerRanks(Ranks):
    """One of several processes that train together.

    Args:
        rank: Its number.
        size: How many there are.
        steps: The process group of what happens in each step.
        patient: The process group of what the others wait for.
    """

    def __init__(
        self, rank: int, size: int, steps: dist.ProcessGroup, patient: dist.ProcessGroup
    ) -> None:
        self.rank = rank
        self.size = size
        self._steps = steps
        self._patient = patient

    def part(self, nodes: Tensor) -> Tensor:
        """An equal part; where there are fewer nodes than ranks, one that does not count."""
        own = nodes.tensor_split(self.size)[self.rank]
        # So every rank goes through the same step, and none has to wait for another by itself.
        return own if own.numel() else nodes[:1]

    def share(self, count: int) -> float:
        """The share of the nodes that are in the part of this rank; 0 if it has none of its own."""
        return (count // self.size + (self.rank < count % self.size)) / count

    def mean(self, values: Sequence[float], share: float) -> list[float]:
        """The means over all ranks of some numbers, weighted by their shares."""
        total = torch.tensor(values, dtype=torch.float64).mul_(share)
        with _lost_told():
            dist.all_reduce(total, group=self._steps)
        return cast("list[float]", total.tolist())

    def average_gradients(self, parameters: Iterable[nn.Parameter], share: float) -> None:
        """Replace all gradients by their means; what has none on any rank is left without."""
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        if not trained:
            return
        parts = [
            torch.zeros_like(one).flatten() if one.grad is None else one.grad.flatten()
            for one in trained
        ]
        known = parts[0].new_tensor([float(one.grad is not None) for one in trained])
        together = torch.cat([part.mul(share) for part in parts] + [known])
        with _lost_told():
            dist.all_reduce(together, group=self._steps)
        sizes = [*(part.numel() for part in parts), len(parts)]
        *averaged, known = torch.split(together, sizes)
        for parameter, gradient, count in zip(trained, averaged, known.tolist(), strict=True):
            averaged_gradient = gradient.view_as(parameter).to(parameter.dtype)
            parameter.grad = averaged_gradient if count else None

    def take_over(self, tensors: Iterable[Tensor]) -> None:
        """Replace some tensors by those of the first rank."""
        with _lost_told():
            for tensor in tensors:
                dist.broadcast(tensor, group_src=0, group=self._steps)

    def of_first(self, make: Callable[[], T]) -> T:
        """What the first rank makes, or the error that it raises."""
        own: T | GaugError | None = None
        if self.is_first:
            try:
                own = make()
            except GaugError as error:
                own = error
        sent = [own]
        with _lost_told():
            dist.broadcast_object_list(sent, group_src=0, group=self._patient)
        made = own if self.is_first else sent[0]
        if isinstance(made, GaugError):
            made.told = not self.is_first
            raise made
        return cast("T", made)

    def gathered(self, value: T) -> list[T]:
        """The values of all ranks, in their order."""
        values: list[T | None] = [None] * self.size
        with _lost_told():
            dist.all_gather_object(values, value, group=self._patient)
        return cast("list[T]", values)

    def draw_anew(self, generator: torch.Generator, key: Sequence[int]) -> None:
        """Begin new random streams for dropout and the method, except on the first rank."""
        if self.is_first:
            return
        seed = functools.reduce(run_seed, key, self.rank)
        torch.manual_seed(seed)
        generator.manual_seed(run_seed(seed, 0))


def group_size() -> int:
    """How many processes are in the process group that this one has initialized; 1 if none."""
    initialized = dist.is_available() and dist.is_initialized()
    return dist.get_world_size() if initialized else 1


@contextlib.contextmanager
def ranks_here() -> Iterator[Ranks]:
    """The ranks of the process group that this process has initialized, if any.

    All processes of the group must be here at the same time.
    """
    if group_size() == 1:
        yield Ranks()
        return
    groups = []
    try:
        with _lost_told():
            groups.append(dist.new_group(backend="gloo", timeout=_LONGEST_WAIT))
            groups.append(dist.new_group(backend=_backends(), timeout=_LONGEST_STEP))
        patient, steps = groups
        yield PeerRanks(dist.get_rank(), dist.get_world_size(), steps, patient)
    finally:
        for group in groups:
            dist.destroy_process_group(group)


def _backends() -> str:
    """Gloo between CPUs, and NCCL between GPUs if there are any."""
    gpus = torch.cuda.is_available() and dist.is_nccl_available()
    return "cpu:gloo,cuda:nccl" if gpus else "gloo"


@contextlib.contextmanager
def _lost_told() -> Iterator[None]:
    """Say in the words of the library that another process cannot be reached."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        # Gloo begins with the place in its source, and ends with a guess.
        reason = re.sub(r"^\[\S+\] | This is typically .*", "", reason_of(error)).rstrip(".")
        raise RankLostError(
            f"Another process of this training has ended or cannot be reached ({reason}). Start all"
            " of them again: they go on from the last checkpoint."
        ) from error
