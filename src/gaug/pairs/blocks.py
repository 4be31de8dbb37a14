"""Blocks of rows of all pairs: as many scores as are computed at a time."""

from __future__ import annotations

from collections.abc import Iterator

from gaug.memory import free_memory

# Default number of scores computed at a time: what fits into a core's own cache, or a few rows.
_BLOCK_ELEMENTS = 1 << 18
_BLOCK_ROWS = 16
#: Rows of a block at most.
MOST_ROWS = 4096
# A block takes at most this share of the free memory: scores in single and in double precision with
# their bounds, masks, places and hashes.
_SHARE_OF_FREE = 8
_BYTES_PER_SCORE = 48


def default_block(num_nodes: int) -> int:
    """Number of scores to compute at a time: a few rows, fewer if memory is short."""
    fitting = free_memory() // (_SHARE_OF_FREE * _BYTES_PER_SCORE)
    return max(1, min(usual_block(num_nodes), fitting))


def usual_block(num_nodes: int) -> int:
    """That number where memory is plenty."""
    return max(_BLOCK_ELEMENTS, _BLOCK_ROWS * num_nodes)


def row_blocks(num_nodes: int, block_elements: int, rows: range) -> Iterator[range]:
    """Ranges of these rows with about so many elements on and above the diagonal.

    >>> list(row_blocks(5, block_elements=8, rows=range(1, 5)))
    [range(1, 3), range(3, 5)]
    """
    start = rows.start
    while start < rows.stop:
        height = max(1, block_elements // (num_nodes - start))
        stop = min(rows.stop, start + min(height, MOST_ROWS))
        yield range(start, stop)
        start = stop


def square_blocks(num_nodes: int, block_elements: int, rows: range) -> Iterator[range]:
    """Ranges of these rows with at most so many elements in all columns."""
    return row_ranges(rows, max(1, block_elements // num_nodes))


def row_ranges(rows: range, height: int) -> Iterator[range]:
    """Ranges of at most so many of these rows."""
    height = min(MOST_ROWS, height)
    for start in range(rows.start, rows.stop, height):
        yield range(start, min(rows.stop, start + height))
