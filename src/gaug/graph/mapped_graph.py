"""A valid graph in a file that several processes map into their memory, which holds it once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch_geometric.data import Data

from gaug.graph.sparse import csr_tensor

_PARTS = ("crow", "col", "values")  # of a sparse matrix


class MappedGraph(Data):  # type: ignore[misc]
    """A valid graph in memory that the processes of a machine share, and only read.

    Its tensors are in a file, or in the object store of Ray. The system reads a page of the file
    when it is first used, and keeps it once for all processes.
    """


def write_graph(graph: Data, path: Path) -> None:
    """Write all tensors and numbers of a valid graph on the CPU to a file."""
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, int] = {"num_nodes": int(graph.num_nodes)}
    for name, value in graph.to_dict().items():
        if isinstance(value, Tensor) and value.layout == torch.sparse_csr:
            parts = (value.crow_indices(), value.col_indices(), value.values())
            tensors |= {f"{name}.{part}": one for part, one in zip(_PARTS, parts, strict=True)}
            numbers[f"{name}.columns"] = value.size(1)
        elif isinstance(value, Tensor):
            tensors[name] = value
    save_file(_apart(tensors), path, {"numbers": json.dumps(numbers)})


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous tensors of which no two share memory, as empty masks may: a file takes none."""
    found: dict[str, Tensor] = {}
    places: set[int] = set()
    for name, value in tensors.items():
        own = value.contiguous()
        place = own.untyped_storage().data_ptr()
        found[name] = own.clone() if place in places else own
        places.add(place)
    return found


def map_graph(path: Path) -> MappedGraph:
    """The graph that `write_graph` wrote; the file may be deleted while it is in use."""
    with safe_open(path, framework="pt") as file:
        numbers = json.loads(file.metadata()["numbers"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for name in [name.removesuffix(".columns") for name in numbers if name.endswith(".columns")]:
        crow, col, values = (tensors.pop(f"{name}.{part}") for part in _PARTS)
        shape = (crow.numel() - 1, numbers[f"{name}.columns"])
        tensors[name] = csr_tensor(crow, col, values, shape)
    return MappedGraph(**tensors, num_nodes=numbers["num_nodes"])
