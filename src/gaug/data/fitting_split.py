"""Which nodes a classifier is fitted to and which choose its epoch, where the user does not say."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.data.config import PARTS, VAL_FRACTION
from gaug.data.split_drawing import draw_by_class, share
from gaug.data.splits import known_labels
from gaug.errors import DataError
from gaug.graph.labels import is_multilabel


def with_fitting_masks(data: Data, *, validate: bool = True, seed: int = 0) -> Data:
    """A valid graph with all three masks; its other tensors are the same.

    Masks that are there are used. Without a ``train_mask`` every labeled node is a training node
    that is in no other mask. Without a ``val_mask`` a fifth of the training nodes of each class,
    drawn at random and at least one of two, is for validation instead. There are no test nodes
    unless ``test_mask`` names some.

    Args:
        data: A valid graph with labels, -1 for nodes whose class is not known.
        validate: Whether validation nodes are needed; otherwise none are drawn.
        seed: Seed of the draw.
    """
    if data.y is None:
        raise DataError("The graph has no labels y: there is nothing to learn from.")
    num_nodes = int(data.num_nodes)
    masks = {part: _given(data, part) for part in PARTS}
    train, val, test = (masks[part] for part in PARTS)
    nobody = torch.zeros(num_nodes, dtype=torch.bool)
    if train is None:
        known = torch.ones_like(nobody) if is_multilabel(data) else data.y.cpu() >= 0
        train = known & ~(nobody if val is None else val) & ~(nobody if test is None else test)
    if not bool(train.any()):
        raise DataError("There are no training nodes: give labels, or a train_mask that has some.")
    if val is None:
        val = _drawn(train, data, seed) if validate else nobody
        train = train & ~val
    result = copy.copy(data)
    for part, mask in zip(PARTS, (train, val, nobody if test is None else test), strict=True):
        result[f"{part}_mask"] = mask.to(data.y.device)
    return result


def _given(data: Data, part: str) -> Tensor | None:
    mask: Tensor | None = data.get(f"{part}_mask")
    if mask is None:
        return None
    if mask.dtype != torch.bool or mask.shape != (int(data.num_nodes),):
        raise DataError(
            f"{part}_mask must have one truth value per node ({data.num_nodes}),"
            f" got {mask.dtype} of shape {list(mask.shape)}."
        )
    return mask.cpu()


def _drawn(train: Tensor, data: Data, seed: int) -> Tensor:
    labels = np.where(train.numpy(), known_labels(data), -1)
    _, counts = np.unique(labels[labels >= 0], return_counts=True)
    if counts.max(initial=0) < 2:
        raise DataError(
            "There are no nodes to validate on: no class has two labeled nodes."
            " Give a val_mask, or set selection='last'."
        )
    val, _ = draw_by_class(
        labels,
        lambda size: [max(share(VAL_FRACTION, size), int(size > 1))],
        np.random.default_rng(seed),
    )
    chosen = torch.zeros_like(train)
    chosen[torch.from_numpy(val)] = True
    return chosen
