"""Random numbers of pairs: made anew in any order, uniform, and unrelated to one another."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gaug.pairs.noise import pair_noise, row_keys, row_noise

SEEDS = [0, 1, -1, 2**62 - 1, 2**64 + 5, -(2**80)]


def all_noise(seed: int, num_nodes: int) -> Tensor:
    return row_noise(row_keys(seed, num_nodes), 0, num_nodes)


def mixed(bits: int) -> int:
    """Wellons' lowbias32 on Python's own integers."""
    bits ^= bits >> 16
    bits = bits * 0x7FEB352D % 2**32
    bits ^= bits >> 15
    bits = bits * 0x846CA68B % 2**32
    return bits ^ bits >> 16


def split_mix(bits: int) -> int:
    """The output function of SplitMix64 (Steele et al., 2014)."""
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % 2**64
    return bits ^ bits >> 31


@pytest.mark.parametrize("seed", SEEDS)
def test_a_number_is_the_published_hash_of_seed_row_and_column(seed: int) -> None:
    noise = all_noise(seed, 9)
    for row in range(9):
        key = split_mix((seed + (row + 1) * 0x9E3779B97F4A7C15) % 2**64)
        low, high = key % 2**32, key >> 32
        for column in range(9):
            bits = mixed((mixed(column ^ low) + high) % 2**32) % 2**23
            assert noise[row, column].item() == (bits + 0.5) / 2**23


@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_are_strictly_between_0_and_1_and_so_are_their_distances_to_1(seed: int) -> None:
    noise = all_noise(seed, 400)
    assert noise.dtype == torch.float32
    assert float(noise.min()) > 0
    assert float(noise.max()) < 1
    assert float((1 - noise).min()) > 0
    # Exact in float32: what is left of 1 adds up to 1 again in double precision.
    assert torch.equal((1 - noise).double(), 1 - noise.double())


@given(
    st.integers(-(2**70), 2**70),
    st.integers(1, 40),
    st.lists(st.integers(0, 40), min_size=3, max_size=3),
)
def test_any_block_has_the_numbers_of_the_whole(seed: int, num_nodes: int, cuts: list[int]) -> None:
    start, stop, first = (min(cut, num_nodes) for cut in cuts)
    start, stop = min(start, stop), max(start, stop)
    block = row_noise(row_keys(seed, num_nodes)[:, start:stop], first, num_nodes)
    assert torch.equal(block, all_noise(seed, num_nodes)[start:stop, first:])


@given(st.integers(-(2**70), 2**70), st.integers(1, 40))
def test_single_pairs_have_the_numbers_of_their_rows(seed: int, num_nodes: int) -> None:
    rows, columns = torch.randint(num_nodes, (2, 50))
    single = pair_noise(row_keys(seed, num_nodes), torch.stack([rows, columns]))
    assert torch.equal(single, all_noise(seed, num_nodes)[rows, columns])


def test_a_larger_graph_has_the_numbers_of_a_smaller_one() -> None:
    assert torch.equal(all_noise(3, 50)[:20, :20], all_noise(3, 20))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_numbers_are_uniform(seed: int) -> None:
    noise = all_noise(seed, 300).flatten().numpy()
    assert scipy.stats.kstest(noise, "uniform").pvalue > 1e-4
    # And so are their last bits, which a comparison of nearly equal numbers hangs on.
    low_bits = (noise.astype(np.float64) * 2**23 - 0.5) % 256
    observed = np.bincount(low_bits.astype(int), minlength=256)
    assert scipy.stats.chisquare(observed).pvalue > 1e-4


def correlation(first: Tensor, second: Tensor) -> float:
    return float(np.corrcoef(first.flatten().numpy(), second.flatten().numpy())[0, 1])


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbors_mirror_images_and_other_seeds_are_not_correlated(seed: int) -> None:
    """Of n independent pairs the correlation is within 5 / sqrt(n) but once in two million."""
    noise = all_noise(seed, 400)
    u, v = torch.triu_indices(400, 400, offset=1)
    others = {
        "next row": (noise[1:], noise[:-1]),
        "next column": (noise[:, 1:], noise[:, :-1]),
        "next of both": (noise[1:, 1:], noise[:-1, :-1]),
        "64 rows on": (noise[64:], noise[:-64]),
        "256 columns on": (noise[:, 256:], noise[:, :-256]),
        "mirror image": (noise[u, v], noise[v, u]),
        "next seed": (noise, all_noise(seed + 1, 400)),
        "seed with another high bit": (noise, all_noise(seed + 2**61, 400)),
    }
    for what, (first, second) in others.items():
        assert abs(correlation(first, second)) < 5 / math.sqrt(first.numel()), what


def test_sums_over_rows_and_columns_spread_as_those_of_independent_numbers() -> None:
    """A row or column that leaned to one side would make a node's degree lean."""
    noise = all_noise(7, 500)
    spread = math.sqrt(500 / 12)
    for dim in (0, 1):
        standardized = (noise.sum(dim) - 250) / spread
        assert scipy.stats.kstest(standardized.numpy(), "norm").pvalue > 1e-4


def test_seeds_that_are_equal_modulo_two_to_the_64_are_one_seed() -> None:
    assert torch.equal(all_noise(5, 10), all_noise(5 + 2**64, 10))
    assert torch.equal(all_noise(-1, 10), all_noise(2**64 - 1, 10))
