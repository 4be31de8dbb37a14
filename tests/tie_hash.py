"""The order of tied pairs by definition: the first number of SplitMix64 seeded with the pair."""

from __future__ import annotations

_MODULUS = 1 << 64


def tie_hash(pair: tuple[int, ...]) -> int:
    """In Python's whole numbers, without NumPy."""
    u, v = sorted(pair)
    bits = ((u << 32) + v + 0x9E3779B97F4A7C15) % _MODULUS
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % _MODULUS
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % _MODULUS
    return bits ^ (bits >> 31)
