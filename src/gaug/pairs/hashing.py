"""A fixed hash of each pair of nodes: the order of pairs whose scores tie.

By node ids, ties would go to the first nodes, which in a graph sorted by class are one class. The
hash only depends on the two ids, so it is the same whatever is computed first, in whatever blocks
and by however many threads, and no two pairs have the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]

#: The step between the states of SplitMix64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
_LAST_SHIFT = np.uint64(31)
_HALF = np.uint64(32)


def mix(bits: Bits) -> Bits:
    """Mix 64 bits in place, one to one (the finalizer of SplitMix64; Steele et al., 2014)."""
    for shift, factor in _ROUNDS:
        bits ^= bits >> shift
        bits *= factor  # modulo 2^64
    bits ^= bits >> _LAST_SHIFT
    return bits


def pair_hash(u: np.ndarray, v: np.ndarray) -> Bits:
    """A number for each unordered pair of node ids below 2^32; of tied pairs the lowest wins.

    >>> ids = np.arange(4)
    >>> bool((pair_hash(ids, ids + 1) == pair_hash(ids + 1, ids)).all())
    True

    Args:
        u: One end of each pair.
        v: The other end; broadcast with ``u``.
    """
    bits = np.minimum(u, v).astype(np.uint64)
    bits <<= _HALF
    bits |= np.maximum(u, v).astype(np.uint64)
    bits += GOLDEN
    return mix(bits)


def key_hash(keys: np.ndarray, num_nodes: int) -> Bits:
    """The hash of pairs given by `gaug.graph.edges.pair_keys`.  [n]"""
    u = keys // num_nodes
    return pair_hash(u, keys - u * num_nodes)
