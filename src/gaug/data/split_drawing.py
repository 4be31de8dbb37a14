"""How the nodes of a split are drawn: at random, by class, or so many per class."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gaug.errors import DataError


def draw_random(
    labels: np.ndarray, train_fraction: float, val_fraction: float, generator: np.random.Generator
) -> list[np.ndarray]:
    """Training, validation and test nodes by fractions of the labeled nodes.

    Args:
        labels: The class of each node, -1 where it is unknown.  [N]
        train_fraction: Share of the training nodes, rounded down.
        val_fraction: Share of the validation nodes, rounded down.
        generator: Source of randomness.
    """
    nodes = generator.permutation(np.flatnonzero(labels >= 0))
    sizes = [share(train_fraction, nodes.size), share(val_fraction, nodes.size)]
    return np.split(nodes, np.cumsum(sizes))


def draw_stratified(
    labels: np.ndarray, train_fraction: float, val_fraction: float, generator: np.random.Generator
) -> list[np.ndarray]:
    """Training, validation and test nodes by fractions of each class.

    Every class has a training node, and a validation node if it has three labeled nodes or more.
    """

    def sizes(size: int) -> list[int]:
        return [
            max(share(train_fraction, size), 1),
            max(share(val_fraction, size), int(size > 2)),
        ]

    return draw_by_class(labels, sizes, generator)


def draw_per_class(
    labels: np.ndarray, count: int, val_fraction: float, generator: np.random.Generator
) -> list[np.ndarray]:
    """The same number of training nodes per class, and a fraction of the others to validate."""
    for label, size in zip(*np.unique(labels[labels >= 0], return_counts=True), strict=True):
        if size < count:
            raise DataError(
                f"labels_per_class must be at most the size of each class; class {label} has"
                f" {size} labeled nodes, got {count}."
            )
    chosen, _ = draw_by_class(labels, lambda _: [count], generator)
    rest = generator.permutation(np.setdiff1d(np.flatnonzero(labels >= 0), chosen))
    val, test = np.split(rest, [share(val_fraction, rest.size)])
    return [chosen, val, test]


def draw_by_class(
    labels: np.ndarray,
    sizes: Callable[[int], Sequence[int]],
    generator: np.random.Generator,
) -> list[np.ndarray]:
    """The labeled nodes of each class in random order, cut into parts.

    Args:
        labels: The class of each node, -1 where it is unknown; one must be known.  [N]
        sizes: Sizes of all parts but the last, by the number of nodes of a class.
        generator: Source of randomness.
    """
    by_class = []
    for label in np.unique(labels[labels >= 0]):
        members = generator.permutation(np.flatnonzero(labels == label))
        by_class.append(np.split(members, np.cumsum(sizes(members.size))))
    return [np.concatenate(parts) for parts in zip(*by_class, strict=True)]


def share(fraction: float, size: int) -> int:
    """The floor of the share, as the paper's counts are; 0.29 of 100 is 29, not 28.999…"""
    return int(fraction * size + 1e-9)
