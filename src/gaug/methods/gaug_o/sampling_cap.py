r"""A limit on the pairs that GAug-O adds to a sample on average.

The expected number of sampled pairs that are not edges is $\alpha \sum_{(i,j) \notin E} M_{ij}$.
The sum over all pairs has a closed form, $(\|\sum_i z_i\|^2 - \sum_i \|z_i\|^2) / 2$, and that over
the edges is computed. If it is above the limit, the probabilities of all these pairs are scaled
down together. The gradient treats this scale as a constant.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

# Pairs added to a sample on average at most, by default, as a multiple of the edges of the graph.
_TIMES_THE_EDGES = 4
#: That in words.
DEFAULT_LIMIT = "four added edges for each edge of the graph"


def added_limit(limit: int | None, num_edges: int) -> int:
    """The limit of pairs added on average: the given one, or four times the edges."""
    return _TIMES_THE_EDGES * num_edges if limit is None else limit


def score_sums(z: Tensor, products: Tensor) -> tuple[float, float]:
    """Sums of the scores over all edges, and over all other pairs.

    In double precision and in one thread, so that a sample does not depend on the threads.

    Args:
        z: Prepared embeddings, none negative.  [N, d]
        products: Inner products of the two ends of each edge.  [E]
    """
    numbers = z.detach().cpu().numpy()
    column_sums = numbers.sum(axis=0, dtype=np.float64)
    squares = sum(float(np.square(column, dtype=np.float64).sum()) for column in numbers.T)
    on_edges = float(products.cpu().numpy().sum(dtype=np.float64))
    everything = (float(column_sums @ column_sums) - squares) / 2
    return on_edges, max(everything - on_edges, 0.0)


def capped_scale(expected: float, limit: int) -> float:
    """What to multiply probabilities by so that no more than a limit are expected.

    >>> capped_scale(expected=50.0, limit=20), capped_scale(expected=5.0, limit=20)
    (0.4, 1.0)
    """
    return limit / expected if expected > limit else 1.0
