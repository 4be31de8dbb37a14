"""A list of the edges of a graph and of pairs drawn besides them, row by row in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from gaug.graph.compiling import compiled_form
from gaug.graph.sparse import Pattern

Array = npt.NDArray[Any]

# Kinds of listed pairs.
ABSENT_EDGE, PRESENT_EDGE, ADDED = 0, 1, 2


@dataclass(frozen=True)
class PairList:
    """Edges that were drawn, edges that were not, and other pairs that were drawn.

    Attributes:
        listed: All of them, so that one list serves a sample and its gradient.
        kind: The kind of each entry.  [nnz]
        drawn: Those that were drawn.
    """

    listed: Pattern
    kind: Tensor
    drawn: Pattern

    @classmethod
    def of(
        cls, edges: Tensor, present: Tensor, added: Tensor, num_nodes: int, device: torch.device
    ) -> PairList:
        """The list of these pairs.

        Args:
            edges: The edges, each as (smaller id, larger id), in ascending order.  [2, E]
            present: Which of them were drawn.  [E]
            added: ``i * N + j`` of each other drawn pair, i < j, ascending, on the CPU.  [n]
            num_nodes: Number of nodes, N.
            device: Where the result is needed.
        """
        form = compiled_form("gaug.pairs.fused_pair_list")
        make = list_pairs if form is None else form.list_pairs
        given = edges.cpu().numpy(), present.cpu().numpy(), added.numpy()
        crow, col, kind, drawn_crow, drawn_col = (
            torch.from_numpy(part).to(device) for part in make(*given, num_nodes)
        )
        listed = Pattern(crow, col, num_nodes, symmetric=True)
        return cls(listed, kind, Pattern(drawn_crow, drawn_col, num_nodes, symmetric=True))


def list_pairs(edges: Array, present: Array, added: Array, num_nodes: int) -> tuple[Array, ...]:
    """Row starts, columns and kinds of all pairs; row starts and columns of the drawn ones.

    Args:
        edges: See `PairList.of`.
        present: See there.
        added: See there.
        num_nodes: Number of nodes.
    """
    keys = edges[0] * num_nodes + edges[1]
    labeled = np.concatenate([keys * 4 + present, added * 4 + ADDED])
    labeled.sort(kind="stable")  # merges two sorted lists in linear time
    keys, kind = labeled >> 2, (labeled & 3).astype(np.int8)
    small = keys // num_nodes
    large = keys - small * num_nodes
    # The smaller neighbors of a node come first, so that SciPy has nothing to sort.
    row, col = np.concatenate([large, small]), np.concatenate([small, large])
    both = csr_matrix((np.tile(kind, 2), (row, col)), shape=(num_nodes, num_nodes))
    crow, columns, kinds = both.indptr.astype(np.int64), both.indices.astype(np.int64), both.data
    drawn = kinds != ABSENT_EDGE
    counted = np.concatenate([[0], np.cumsum(drawn)])
    return crow, columns, kinds, counted[crow], columns[drawn]
