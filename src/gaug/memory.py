"""How much memory may be used: what the user allows, and what the machine has left.

Nothing here imports PyTorch, so that a size given on the command line is checked at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import multiprocessing
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import psutil

from gaug.errors import ConfigError

#: Where the limit is kept: worker processes inherit it.
VARIABLE = "GAUG_MAX_MEMORY"

_UNITS = {
    "": 1,
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", start=1)},
    **{f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", start=1)},
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)", re.IGNORECASE)

# Parameters of glibc's mallopt.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_MOST = (1 << 31) - 1
# Smaller work has no large blocks; larger work may take this many times what it needs.
_WORTH_KEEPING = 200_000_000
_TIMES_NEEDED = 2

# What is left of the available memory for everything else on the machine.
_MARGIN_SHARE = 0.1
_LEAST_MARGIN = 200_000_000


def parse_size(text: str | int) -> int:
    """Bytes of a size such as ``4GB``, ``512MB``, ``1.5GiB`` or ``2000000000``.

    >>> parse_size("4GB"), parse_size("1.5 GiB")
    (4000000000, 1610612736)
    """
    return _parse(text, "max_memory")


def _parse(text: str | int, subject: str) -> int:
    found = _SIZE.fullmatch(str(text).strip())
    unit = _UNITS.get(found[2].upper()) if found else None
    size = float(found[1]) * unit if found and unit else 0.0
    if not 1 <= size < math.inf:
        raise ConfigError(f"{subject} must be a size such as 4GB, 512MB or 1.5GiB, got {text!r}.")
    return int(size)


def size_text(size: float) -> str:
    """A number of bytes for a person.

    >>> size_text(3_140_000_000), size_text(512_000_000)
    ('3.1 GB', '512 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 999.5e6 else f"{max(size, 0) / 1e6:,.0f} MB"


def set_max_memory(size: str | int | None) -> None:
    """Limit the memory that gaug plans with, in this process and its workers together.

    What does not fit is refused before it starts, fewer workers are started, and work that is done
    in blocks takes smaller ones; results are the same. It is no hard limit: only what gaug
    estimates in advance is compared with it.

    Args:
        size: For example ``"4GB"``, ``"512MB"``, ``"1.5GiB"`` or a number of bytes; None: what is
            available, which is also the limit if less is available than allowed.

    Examples:
        >>> set_max_memory("4GB")
        >>> set_max_memory(None)
    """
    if size is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = str(parse_size(size))


def max_memory() -> int | None:
    """The limit in bytes that was set, if any."""
    text = os.environ.get(VARIABLE)
    return _parse(text, VARIABLE) if text else None


_share: int | None = None


def set_share(size: int | None) -> None:
    """Limit what this process may hold, one of several that share the memory.

    Args:
        size: Bytes; None: no limit but that of all of them.
    """
    global _share
    _share = size


@dataclass(frozen=True)
class Room:
    """Memory that may still be taken.

    Attributes:
        free: Bytes.
        limit: The limit that was set, if that is what leaves no more.
        share: The share of one of several processes, if that is what leaves no more.
    """

    free: int
    limit: int | None = None
    share: int | None = None

    @classmethod
    def left(cls) -> Room:
        """The room at this moment."""
        limit, spare, held = max_memory(), _spare(), held_memory()
        room = cls(spare)
        if limit is not None and limit - held < room.free:
            room = cls(max(0, limit - held), limit)
        if _share is not None and _share - held < room.free:
            room = cls(max(0, _share - held), limit, _share)
        return room

    @property
    def topic(self) -> str | None:
        """The topic of an error about it: the limit, if a higher one would help."""
        return None if self.limit is None else "max-memory"

    def __str__(self) -> str:
        if self.share is not None:
            return f"{size_text(self.free)} of a worker's {size_text(self.share)} are left"
        if self.limit is None:
            return f"{size_text(self.free)} are free"
        return f"{size_text(self.free)} of the {size_text(self.limit)} of max_memory are left"


class Allowance:
    """The room when it was made, less what this process has taken since.

    What its workers take does not count, so that it says what they may take together.
    """

    def __init__(self) -> None:
        self._room = Room.left()
        self._held = held_memory()

    def left(self) -> Room:
        """The room that is left."""
        taken = held_memory() - self._held
        return replace(self._room, free=max(0, self._room.free - taken))


def free_memory() -> int:
    """Bytes that may still be taken, by the limit that was set and by what is available."""
    return Room.left().free


def check_fits(
    needed: float,
    what: str,
    remedy: str,
    *,
    num_nodes: int | None = None,
    room: Room | None = None,
) -> None:
    """Raise if something needs more memory than is free.

    Args:
        needed: Bytes that it needs.
        what: What needs them, as the subject of a sentence.
        remedy: What to do about it, as a sentence.
        num_nodes: Nodes of the graph, if the need depends on them.
        room: The memory that it may take; by default what is left at this moment.
    """
    room = room or Room.left()
    if needed > room.free:
        size = "" if num_nodes is None else f" for {num_nodes:,} nodes"
        raise ConfigError(
            f"{what} needs about {size_text(needed)}{size}, and {room}. {remedy}",
            topic=room.topic,
        )


@contextlib.contextmanager
def reusing(needed: int) -> Iterator[None]:
    """Within the block, freed memory is kept for what is allocated next, if there is plenty.

    By default, glibc gives every block above 32 MB back to the system at once, and asks for it
    again a moment later. On a graph of a million nodes that takes more time than the rest of an
    epoch. Kept memory has gaps, so it is only kept if twice the need is free. No result changes.

    Args:
        needed: Bytes that the work takes at its peak, about.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None or needed < _WORTH_KEEPING or _TIMES_NEEDED * needed > free_memory():
        yield
        return
    mallopt(_MMAP_MAX, 0)  # no block of its own, however large
    mallopt(_TRIM_THRESHOLD, _MOST)
    try:
        yield
    finally:
        mallopt(_MMAP_MAX, 65536)  # glibc's own
        mallopt(_MMAP_THRESHOLD, 1 << 25)  # what glibc arrives at with large blocks
        mallopt(_TRIM_THRESHOLD, 1 << 26)
        ctypes.CDLL(None).malloc_trim(0)


def held_memory() -> int:
    """Resident bytes of this process; of a worker without those that it shares with others.

    On a cluster these are the graphs in Ray's object store, for which a machine sets memory aside.
    """
    info = psutil.Process().memory_info()
    is_worker = _share is not None or multiprocessing.parent_process() is not None
    return int(info.rss - (getattr(info, "shared", 0) if is_worker else 0))


def available_memory(root: Path = Path("/")) -> int:
    """Bytes that this process can still take before the machine or a limit stops it.

    The least of what the machine has available, what is left of the limits of its control groups
    (containers and batch systems set those), and what is left of its resource limits (``ulimit``).

    Args:
        root: Where ``proc`` and ``sys`` are.
    """
    left = [psutil.virtual_memory().available, *_left_of_groups(root), *_left_of_resources()]
    return max(0, int(min(left)))


def _spare() -> int:
    available = available_memory()
    return max(0, int(available - max(_MARGIN_SHARE * available, _LEAST_MARGIN)))


def _left_of_groups(root: Path) -> Iterator[int]:
    """What is left of each limit of the control groups of this process, versions 1 and 2."""
    groups = root / "sys" / "fs" / "cgroup"
    for line in _text(root / "proc" / "self" / "cgroup").splitlines():
        _, _, named = line.partition(":")
        controllers, _, path = named.partition(":")
        if controllers == "":  # version 2; beside version 1 it is mounted elsewhere
            for mount in (groups, groups / "unified"):
                for folder in _upwards(mount, path):
                    limits = [_number(folder / f"memory.{name}") for name in ("max", "high")]
                    used = _number(folder / "memory.current")
                    yield from _left(limits, used, _reclaimable(folder, "inactive_file"))
        elif "memory" in controllers.split(","):
            for folder in _upwards(groups / "memory", path):
                limits = [_number(folder / "memory.limit_in_bytes")]
                used = _number(folder / "memory.usage_in_bytes")
                yield from _left(limits, used, _reclaimable(folder, "total_inactive_file"))


def _upwards(mount: Path, path: str) -> Iterator[Path]:
    """The folders of a group and of all groups that it is in.

    In a container, the path may be that of the host, which does not exist here; the mount itself is
    the container's group then.
    """
    inside = PurePosixPath(path.lstrip("/"))
    if ".." not in inside.parts:
        for group in (inside, *inside.parents):
            if str(group) != "." and (mount / group).is_dir():
                yield mount / group
    yield mount


def _left(limits: list[int | None], used: int | None, reclaimable: int) -> Iterator[int]:
    for limit in limits:
        if limit is not None and used is not None:
            yield limit - max(0, used - reclaimable)


def _reclaimable(folder: Path, name: str) -> int:
    """The page cache in a group, which the system gives back when memory is short."""
    for line in _text(folder / "memory.stat").splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return 0


def _left_of_resources() -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows
        return
    info = psutil.Process().memory_info()
    for name, field in (("RLIMIT_AS", "vms"), ("RLIMIT_DATA", "data")):
        kind, used = getattr(resource, name, None), getattr(info, field, None)
        if kind is not None and used is not None:
            limit, _ = resource.getrlimit(kind)
            if limit != resource.RLIM_INFINITY:
                yield limit - used


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None  # "max" is no limit


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# What PyTorch says where it raises no error of its own for it: of the CPU, and of some devices.
_LACKING = ("allocate memory", "out of memory")


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, that of the machine or that of a GPU."""
    torch = sys.modules.get("torch")  # if it was raised there, it is imported
    if isinstance(error, (MemoryError, getattr(torch, "OutOfMemoryError", MemoryError))):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _LACKING)
