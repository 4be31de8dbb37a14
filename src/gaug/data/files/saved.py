"""A PyTorch Geometric `Data` from a file of `torch.save`, without unpickling anything else."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from gaug.data.config import PARTS
from gaug.data.files.reading import to_loaded_graph
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.tables.table import shown
from gaug.data.tables.text_lines import check_file
from gaug.errors import DataError

_SAFE = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]
_KEPT = (
    "x",
    "edge_index",
    "edge_weight",
    "y",
    "feature_statistics",
    *(f"{part}_mask" for part in PARTS),
)
_MOST_NODES = 200_000_000
# Names of nodes, of classes and of features, beside the tensors.
_NAMES = ("node_id", "class_names", "feature_names")


def read_saved(path: Path, name: str, made_features: str | None = None) -> LoadedGraph:
    """The graph in a ``.pt`` file: a `Data`, or the dictionary that ``Data.to_dict()`` gives.

    Names of nodes, classes and features are taken from lists of texts ``node_id``, ``class_names``
    and ``feature_names`` where the graph has them.

    Args:
        path: The file.
        name: What to call the graph.
        made_features: Features to make where there are none.

    Raises:
        DataError: If the file holds anything but tensors and plain values.
    """
    values = _load(path)
    notes = []
    left_out = sorted(key for key in values if key not in (*_KEPT, *_NAMES, "num_nodes"))
    if left_out:
        notes.append(
            f"Left out of {path.name}: {', '.join(str(key)[:40] for key in left_out[:10])}."
        )
    names = {key: _texts(path, key, values.get(key)) for key in _NAMES}
    tensors = {key: values[key] for key in _KEPT if values.get(key) is not None}
    for key, value in tensors.items():
        _check_tensor(path, key, value)
    data = Data(**tensors)
    if data.x is None and isinstance(values.get("num_nodes"), int):
        data.num_nodes = values["num_nodes"]
    try:
        num_nodes = int(data.num_nodes or 0)
    except Exception as error:  # of whatever shapes it was asked
        raise DataError(f"{path} does not say how many nodes there are.") from error
    if not 0 < num_nodes <= _MOST_NODES:
        raise DataError(f"{path} must have from 1 to {_MOST_NODES:,} nodes, got {num_nodes:,}.")
    given_ids = names["node_id"]
    if given_ids and len(given_ids) != num_nodes:
        raise DataError(
            f"{path}: node_id must have one id per node ({num_nodes:,}), got {len(given_ids):,}."
        )
    ids = (
        NodeIds.unique(given_ids, lambda row: f"{path}, node_id[{row}]", str(path))
        if given_ids
        else NodeIds.numbered(num_nodes, str(path))
    )
    loaded = to_loaded_graph(data, name, ids, (), made_features, notes, str(path))
    return _named(path, loaded, names["class_names"], names["feature_names"])


def _named(
    path: Path, loaded: LoadedGraph, class_names: tuple[str, ...], feature_names: tuple[str, ...]
) -> LoadedGraph:
    data = loaded.data
    classes = 0
    if data.y is not None:
        classes = data.y.size(1) if data.y.dim() == 2 else int(data.y.max()) + 1
    class_names = class_names or tuple(map(str, range(classes)))
    if len(class_names) < classes:
        raise DataError(
            f"{path}: class_names must have a name for each of {classes:,} classes, got"
            f" {len(class_names):,}."
        )
    if feature_names and len(feature_names) != data.x.size(1):
        feature_names = ()  # they name features that the file does not have
    masks = [data.get(f"{part}_mask") for part in PARTS]
    for part, mask in zip(PARTS, masks, strict=True):
        if mask is not None and (mask.dtype != torch.bool or mask.shape != (data.num_nodes,)):
            raise DataError(
                f"{path}: {part}_mask must be true or false for each node, got {mask.dtype} of"
                f" shape {list(mask.shape)}."
            )
    return LoadedGraph(
        loaded.name,
        data,
        loaded.ids,
        class_names,
        feature_names,
        loaded.notes,
        "stratified" if any(mask is None for mask in masks) else "public",
    )


def _load(path: Path) -> dict[str, Any]:
    check_file(path)
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is not a file of torch.save, or is of a version before 1.6.")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
        # torch.save stores as it is; anything compressed was written otherwise and may be a bomb.
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise DataError(f"{path} holds compressed parts, which torch.save does not write.")
        # Leaving the block forbids what it allowed, also what PyTorch Geometric needs itself.
        allowed = torch.serialization.get_safe_globals()
        with (
            torch.serialization.safe_globals([kind for kind in _SAFE if kind not in allowed]),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            loaded = torch.load(path, map_location="cpu", weights_only=True)
        values = loaded.to_dict() if isinstance(loaded, Data) else loaded
    except DataError:
        raise
    except Exception as error:  # whatever a damaged or foreign file causes
        reason = str(error)
        at = reason.find("Unsupported")
        reason = shown(reason[at:].split(" was not")[0]) if at >= 0 else type(error).__name__
        raise DataError(
            f"{path} is damaged or holds more than a Data of tensors ({reason}), and nothing else"
            " is unpickled. Save data.to_dict() with tensors alone."
        ) from error
    if not isinstance(values, dict):
        raise DataError(f"{path} must hold a Data, got {type(values).__name__}.")
    return values


def _check_tensor(path: Path, key: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise DataError(f"{path}: {key} must be a tensor, got {type(value).__name__}.")
    if value.layout == torch.strided and (
        value.numel() * value.element_size() > value.untyped_storage().nbytes()
    ):
        raise DataError(f"{path}: {key} claims more numbers than it has.")
    if value.is_complex() or value.is_quantized:
        raise DataError(f"{path}: {key} must hold real numbers, got {value.dtype}.")


def _texts(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, Tensor) and value.dim() == 1 and not value.is_floating_point():
        return tuple(map(str, value.tolist()))
    if isinstance(value, (list, tuple)) and all(isinstance(text, (str, int)) for text in value):
        return tuple(map(str, value))
    raise DataError(f"{path}: {key} must be a list of texts or of whole numbers.")
