"""Jobs as bytes for another process on this machine, with tensors in shared memory.

PyTorch's own pickler moves a tensor into shared memory where it is: whoever holds an array on the
same memory, in this thread or another, then reads memory that has been freed. Here a tensor stays
where it is, and a copy in shared memory is sent, made once for all jobs until workers are closed.
"""

from __future__ import annotations

import io
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

# The shared copy of each storage that was sent, while that storage lives and workers are there.
_copies: dict[int, tuple[StorageWeakRef, torch.UntypedStorage]] = {}


def pack(job: object) -> bytes:
    """A job as bytes; its tensors are in shared memory, and it leaves them as they are."""
    for key in [key for key, (origin, _) in _copies.items() if origin.expired()]:  # type: ignore[no-untyped-call]
        del _copies[key]
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(job)
    return buffer.getvalue()


def drop_copies() -> None:
    """Give back all copies in shared memory; those who received one keep it as long as they are."""
    _copies.clear()


def unpack(packed: bytes) -> Any:
    """What `pack` packed, in the process that received it; its tensors are not copied."""
    return ForkingPickler.loads(packed)


class _Pickler(ForkingPickler):
    def reducer_override(self, obj: Any) -> Any:
        # Subclasses and sparse tensors are made of plain ones, which come here in their turn.
        if type(obj) is not Tensor or obj.layout != torch.strided:
            return NotImplemented
        if obj.device.type != "cpu" or obj.is_shared() or obj.requires_grad:  # type: ignore[no-untyped-call]
            return NotImplemented
        origin = obj.untyped_storage()
        reference = StorageWeakRef(origin)  # type: ignore[no-untyped-call]
        if reference.cdata not in _copies:
            copy = origin.clone()  # type: ignore[no-untyped-call]
            copy.share_memory_()
            _copies[reference.cdata] = (reference, copy)
        shared = _copies[reference.cdata][1]
        view = torch.empty(0, dtype=obj.dtype).set_(
            shared, obj.storage_offset(), obj.size(), obj.stride()
        )
        return torch.multiprocessing.reductions.reduce_tensor(view)  # type: ignore[no-untyped-call]
