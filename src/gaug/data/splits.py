"""Training, validation and test nodes: drawn, published, or from a file."""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.config import KINDS, OR_SPLIT_FILE, PARTS, SplitConfig, check_split, unknown_split
from gaug.data.files.arrays import read_npz
from gaug.data.node_ids import NodeIds
from gaug.data.split_drawing import draw_per_class, draw_random, draw_stratified
from gaug.data.tables.table import shown
from gaug.errors import ConfigError, DataError
from gaug.graph.labels import is_multilabel

# What fills a part that came out empty.
_REMEDIES = {
    "train": "Raise train_fraction",
    "val": "Raise val_fraction",
    "test": "Lower train_fraction or val_fraction",
}


@dataclass(frozen=True)
class Split:
    """Node ids of the three parts, checked.

    Attributes:
        name: Where it came from, for records.
        train: Training nodes.
        val: Validation nodes.
        test: Test nodes.
    """

    name: str
    train: Tensor
    val: Tensor
    test: Tensor

    @classmethod
    def of_masks(cls, data: Data, name: str) -> Split:
        """The split that the masks of a graph say; a part may be empty."""
        parts = (data[f"{part}_mask"].cpu().nonzero().flatten() for part in PARTS)
        return cls(name, *parts)

    @property
    def hash(self) -> str:
        """A short fingerprint of the three sets of ids."""
        digest = hashlib.sha256()
        for part in (self.train, self.val, self.test):
            ids = part.sort().values.numpy().astype("<i8")
            digest.update(len(ids).to_bytes(8, "little") + ids.tobytes())
        return digest.hexdigest()[:12]

    def apply(self, data: Data) -> Data:
        """The graph with the split as boolean masks; its other tensors are the same."""
        result = copy.copy(data)
        for part in PARTS:
            mask = torch.zeros(int(data.num_nodes), dtype=torch.bool)
            mask[getattr(self, part)] = True
            result[f"{part}_mask"] = mask
        return result


def make_split(data: Data, kind: str, config: SplitConfig | None = None) -> Split:
    """The split of a graph.

    Args:
        data: A valid graph.
        kind: ``public`` (the graph's own masks), ``random`` (by fractions), ``stratified`` (by
            fractions within each class), ``per-class`` (the same number of training nodes per
            class, then by fraction), or a path to an ``.npz`` file with ``train``, ``val`` and
            ``test``.
        config: Fractions, counts and seed of the kinds that are drawn; by default 60 % of the
            labeled nodes train, 20 % validate and 20 % test.
    """
    if data.y is None:
        raise DataError(
            "A graph without labels y cannot be split for classification. Give it labels.",
            topic="labels-file",
        )
    if kind == "public":
        return _public(data)
    if kind in KINDS:
        return _drawn(data, kind, config or SplitConfig())
    path = Path(kind)
    if path.suffix == ".npz":
        return read_split(path, data)
    raise unknown_split(kind)


def _drawn(data: Data, kind: str, config: SplitConfig) -> Split:
    labels = known_labels(data)
    generator = np.random.default_rng([config.split_seed, KINDS.index(kind)])
    if kind == "per-class":
        parts = draw_per_class(labels, config.labels_per_class, config.val_fraction, generator)
    else:
        config = config.resolved()
        assert config.train_fraction is not None
        draw = draw_random if kind == "random" else draw_stratified
        parts = draw(labels, config.train_fraction, config.val_fraction, generator)
    name = f"{kind}-{config.split_seed}"
    for part, ids in zip(PARTS, parts, strict=True):
        if ids.size == 0:
            raise DataError(
                f"The {part} part of split {name!r} must not be empty: {(labels >= 0).sum():,}"
                f" labeled nodes are too few for these fractions. {_REMEDIES[part]}, or give a"
                " split of your own.",
                topic="split-settings",
            )
    return checked_split(name, parts, data)


def read_split(path: Path, data: Data, ids: NodeIds | None = None) -> Split:
    """A split from an ``.npz`` file with arrays of node ids ``train``, ``val`` and ``test``.

    Args:
        path: The file.
        data: The graph.
        ids: The ids of its nodes, by default their numbers.
    """
    check_split(str(path))
    arrays = read_npz(path)
    missing = [part for part in PARTS if part not in arrays]
    if missing:
        raise DataError(
            f"{path} must hold arrays train, val and test, missing {', '.join(missing)}."
        )
    parts = []
    for part in PARTS:
        array = arrays[part]
        if array.ndim != 1 or array.dtype.kind not in ("iu" if ids is None else "iuU"):
            raise DataError(
                f"{part} in {path} must be a list of node ids, got {array.dtype} of shape"
                f" {list(array.shape)}."
            )
        if ids is not None and not ids.are_numbers:
            place = functools.partial("{}, {}[{}]".format, path, part)
            array = ids.positions(list(map(str, array.tolist())), place)
        parts.append(array)
    return checked_split(path.stem, parts, data, ids)


def checked_split(
    name: str, parts: Sequence[np.ndarray], data: Data, names: Sequence[str] | None = None
) -> Split:
    """A split whose parts are non-empty, disjoint, in range and labeled; anything else raises.

    Args:
        name: Its name in records.
        parts: Numbers of the training, validation and test nodes.
        data: The graph.
        names: What to call the nodes in errors, by default their numbers.
    """

    def called(node: int) -> str:
        return str(node) if names is None else shown(names[node])

    num_nodes = int(data.num_nodes)
    owner = np.full(num_nodes, -1)
    labels = data.y.numpy()
    for number, (part, ids) in enumerate(zip(PARTS, parts, strict=True)):
        if ids.size == 0:
            raise DataError(f"The {part} part of split {name!r} must not be empty.")
        if ids.min() < 0 or ids.max() >= num_nodes:
            bad = ids.min() if ids.min() < 0 else ids.max()
            raise DataError(
                f"The {part} part of split {name!r} must hold node ids from 0 to"
                f" {num_nodes - 1}, got {bad}."
            )
        taken = owner[ids]
        if (taken >= 0).any():
            node = int(ids[taken >= 0][0])
            other = PARTS[owner[node]]
            raise DataError(
                f"Split {name!r} has node {called(node)} both in {other} and in {part}."
            )
        if np.unique(ids).size != ids.size:
            raise DataError(f"The {part} part of split {name!r} lists a node more than once.")
        if labels.ndim == 1 and (labels[ids] < 0).any():
            node = int(ids[labels[ids] < 0][0])
            raise DataError(
                f"Node {called(node)} of the {part} part of split {name!r} has no label."
            )
        owner[ids] = number
    train, val, test = (torch.from_numpy(np.sort(ids).astype(np.int64)) for ids in parts)
    return Split(name, train, val, test)


def _public(data: Data) -> Split:
    masks = [data.get(f"{part}_mask") for part in PARTS]
    if any(mask is None for mask in masks):
        raise ConfigError(
            "This graph has no public split. Choose from: random, stratified, per-class,"
            f" {OR_SPLIT_FILE}."
        )
    return checked_split("public", [mask.nonzero().flatten().numpy() for mask in masks], data)


def known_labels(data: Data) -> np.ndarray:
    """The class of each node, -1 where it is unknown; of several labels the first.  [N]"""
    return np.asarray((data.y.argmax(dim=1) if is_multilabel(data) else data.y).cpu().numpy())
