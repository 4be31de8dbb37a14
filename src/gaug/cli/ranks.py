"""Several processes for one training: what torchrun says to each, and who may start them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import typer

from gaug.errors import ConfigError

# What torchrun sets for each process, and others who start several in its way.
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def size() -> int:
    """How many processes there are."""
    return _number("WORLD_SIZE", 1) if all(name in os.environ for name in _VARIABLES) else 1


def rank() -> int:
    """The number of this process."""
    return _number("RANK", 0) if size() > 1 else 0


def is_first_here() -> bool:
    """Whether this is the first process on its machine, which reads the graph."""
    return size() == 1 or _number("LOCAL_RANK", 0) == 0


def check_command(command: str | None) -> None:
    """Raise if several processes were started for a command that they cannot share."""
    if size() > 1 and command not in (None, "fit"):
        raise ConfigError(
            f"'gaug {command}' is not for {size()} processes of torchrun: only 'gaug fit' splits a"
            " training among them. Start it without torchrun."
        )


def check_options(context: typer.Context, cluster: str | None, processes: int | None) -> None:
    """Raise unless it is clear who starts the processes.

    Args:
        context: That of the command.
        cluster: Address of a cluster, if any.
        processes: Number of processes to start there, if any.
    """
    # The environment may give a cluster or a limit for other commands.
    if processes is None:
        if _is_given(context, "cluster"):
            raise ConfigError(
                "'gaug fit' trains on a cluster with --ranks N, the number of processes. Give that,"
                " or leave out --cluster."
            )
        return
    if _is_given(context, "max_memory"):
        raise ConfigError(
            "--max-memory limits this machine, and --ranks train on those of the cluster. Leave it"
            " out: the first rank goes by what its machine has free."
        )
    if cluster is None:
        raise ConfigError(
            "--ranks goes with --cluster ADDRESS. Without a cluster, torchrun starts the processes."
        )
    if size() > 1:
        raise ConfigError(
            f"torchrun started {size()} processes already. Leave out torchrun, or --ranks."
        )
    if processes < 1:
        raise ConfigError(f"--ranks must be at least 1, got {processes}.")


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option is on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


@contextlib.contextmanager
def quiet_unless_first() -> Iterator[None]:
    """Within the block, processes other than the first print nothing."""
    if rank() == 0:
        yield
        return
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


@contextlib.contextmanager
def joined(device: str) -> Iterator[str]:
    """Within the block, the processes of torchrun are one process group.

    Args:
        device: Where to compute.

    Yields:
        Where this process computes: of several GPUs of a machine, each has its own.
    """
    if size() == 1:
        yield device
        return
    import torch
    import torch.distributed as dist

    if device == "cuda":
        device = f"cuda:{_number('LOCAL_RANK', 0)}"
        torch.cuda.set_device(device)
    dist.init_process_group(backend="gloo")
    try:
        yield device
    finally:
        dist.destroy_process_group()


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else default
