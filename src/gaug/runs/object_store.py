"""Jobs as bytes for other machines, with their tensors in Ray's object store.

The memory of a tensor is stored under its fingerprint, so what many jobs have in common, such as a
graph with its layouts or a fitted predictor, is stored once, and each machine fetches it once.
Workers on a machine read the same copy, which cannot be written to.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import ray
import torch
from ray import ObjectRef, cloudpickle
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

# Less than this is sent with the job.
_WORTH_STORING = 1 << 14


@dataclass
class _Stored:
    """Bytes in the object store, which drops them when nobody refers to them."""

    fingerprint: bytes
    size: int
    reference: ObjectRef[Any]


class ObjectStore:
    """Packs jobs, and stores what they have in common once.

    What is stored is dropped when neither a tensor here nor a job there has it any more. The
    fingerprint of a tensor's memory is taken once: graphs are never changed in place.
    """

    def __init__(self) -> None:
        self._by_content: WeakValueDictionary[bytes, _Stored] = WeakValueDictionary()
        self._by_storage: dict[int, tuple[StorageWeakRef, _Stored]] = {}

    def pack(self, job: object) -> tuple[bytes, list[ObjectRef[Any]]]:
        """A job as bytes, and references to what it needs from the object store."""
        for key in [key for key, (origin, _) in self._by_storage.items() if origin.expired()]:  # type: ignore[no-untyped-call]
            del self._by_storage[key]
        buffer = io.BytesIO()
        pickler = _Pickler(buffer, self)
        pickler.dump(job)  # type: ignore[no-untyped-call]
        return buffer.getvalue(), [stored.reference for stored in pickler.needed.values()]

    @property
    def sizes(self) -> list[int]:
        """The bytes of each object that is stored now."""
        return [stored.size for stored in self._by_content.values()]

    def of_storage(self, storage: torch.UntypedStorage) -> _Stored:
        """The memory of tensors in the object store; its fingerprint is taken once."""
        origin = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
        if origin.cdata not in self._by_storage:
            here = storage.cpu()  # type: ignore[no-untyped-call]
            content = torch.empty(0, dtype=torch.uint8).set_(here).numpy()
            self._by_storage[origin.cdata] = (origin, self.of_bytes(content))
        return self._by_storage[origin.cdata][1]

    def of_bytes(self, content: np.ndarray) -> _Stored:
        """Bytes in the object store, where they are put unless they are there already."""
        fingerprint = hashlib.blake2b(content.data, digest_size=16).digest()
        found = self._by_content.get(fingerprint)
        if found is None:
            found = _Stored(fingerprint, content.nbytes, ray.put(content))
            self._by_content[fingerprint] = found
        return found


class _Pickler(cloudpickle.Pickler):
    """Replaces large tensors and arrays by their place among the stored objects."""

    def __init__(self, buffer: io.BytesIO, store: ObjectStore) -> None:
        super().__init__(buffer)  # type: ignore[no-untyped-call]
        self._store = store
        self.needed: dict[bytes, _Stored] = {}

    def persistent_id(self, obj: Any) -> Any:
        # Subclasses and sparse tensors are made of plain ones, which come here in their turn.
        if type(obj) is Tensor and obj.layout == torch.strided and not obj.requires_grad:
            storage = obj.untyped_storage()
            if storage.nbytes() >= _WORTH_STORING:
                place = self._place(self._store.of_storage(storage))
                # With its strides: a result to the last bit may depend on them.
                shape = (obj.storage_offset(), tuple(obj.size()), obj.stride())
                return place, obj.dtype, obj.device.type, *shape
        elif type(obj) is np.ndarray and obj.nbytes >= _WORTH_STORING and _is_plain(obj):
            content = obj.reshape(-1).view(np.uint8)
            return self._place(self._store.of_bytes(content)), obj.dtype, obj.shape
        return None

    def _place(self, stored: _Stored) -> int:
        self.needed.setdefault(stored.fingerprint, stored)
        return list(self.needed).index(stored.fingerprint)


def _is_plain(array: np.ndarray) -> bool:
    return array.flags.c_contiguous and not array.dtype.hasobject


def unpack(packed: bytes, objects: Sequence[np.ndarray]) -> Any:
    """What `ObjectStore.pack` packed, with its objects; the memory of tensors is not copied."""
    return _Unpickler(io.BytesIO(packed), objects).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, objects: Sequence[np.ndarray]) -> None:
        super().__init__(buffer)
        self._objects = objects
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            self._storages = [torch.from_numpy(one).untyped_storage() for one in objects]

    def persistent_load(self, pid: Any) -> Tensor | np.ndarray:
        if len(pid) == 3:
            place, dtype, shape = pid
            # Compiled code does not take arrays that cannot be written to.
            array: np.ndarray = self._objects[place].view(dtype).reshape(shape).copy()
            return array
        place, dtype, device, offset, size, stride = pid
        tensor = torch.empty(0, dtype=dtype).set_(self._storages[place], offset, size, stride)
        return tensor.to(device)
