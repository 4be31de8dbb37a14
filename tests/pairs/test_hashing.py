"""The hash that decides ties, against SplitMix64 in whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaug.pairs.hashing import key_hash, pair_hash
from tests.tie_hash import tie_hash

ids = st.integers(0, 2**32 - 1)


@given(st.lists(st.tuples(ids, ids), min_size=1, max_size=20))
def test_it_is_splitmix64_seeded_with_the_pair(pairs: list[tuple[int, int]]) -> None:
    u, v = np.array(pairs).T
    assert pair_hash(u, v).tolist() == [tie_hash(pair) for pair in pairs]
    assert pair_hash(v, u).tolist() == pair_hash(u, v).tolist()


def test_the_first_number_of_a_published_sequence() -> None:
    # SplitMix64 with the seed 1234567, as listed on Rosetta Code.
    assert pair_hash(np.array([0]), np.array([1234567])).tolist() == [6457827717110365317]


def test_no_two_pairs_share_a_hash_and_no_node_is_preferred() -> None:
    num_nodes = 300
    u, v = np.triu_indices(num_nodes, 1)
    hashes = key_hash(u * num_nodes + v, num_nodes)
    assert np.unique(hashes).size == hashes.size
    # Of 44,850 pairs, the lowest 4,485: a node has 29.9 of them on average, +-5.2.
    first = np.argsort(hashes)[: hashes.size // 10]
    ends = np.bincount(np.concatenate([u[first], v[first]]), minlength=num_nodes)
    assert abs(np.sort(ends)[[0, -1]] - 29.9).max() < 5 * 5.2
