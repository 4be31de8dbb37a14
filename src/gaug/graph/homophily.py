"""How many edges join two nodes of one class."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.graph.edges import undirected_pairs

#: Edges are homophilous from this adjusted homophily on; 0 is chance, 1 is all within a class.
HOMOPHILOUS = 0.3
#: With fewer edges between nodes of known class, their homophily says nothing.
FEW_EDGES = 20


def edge_homophily(edge_index: Tensor, labels: Tensor) -> float | None:
    """Share of the edges, or of any pairs, between labeled nodes that join two nodes of one class.

    None where no edge has two labeled ends, and for multi-label graphs, where it is not defined.
    """
    if labels.dim() == 2:
        return None
    counts = edge_counts(edge_index, labels)
    known = counts["intra_edges"] + counts["inter_edges"]
    return counts["intra_edges"] / known if known else None


def edge_counts(pairs: Tensor, labels: Tensor) -> dict[str, int]:
    """Number of edges, and of those within a class and between classes.

    An edge of a node without a label is neither.

    >>> edge_counts(torch.tensor([[0, 1, 0], [1, 2, 3]]), torch.tensor([0, 0, 1, -1]))
    {'edges': 3, 'intra_edges': 1, 'inter_edges': 1}
    """
    ends = labels[pairs]
    same, known = ends[0] == ends[1], (ends >= 0).all(dim=0)
    return {
        "edges": pairs.size(1),
        "intra_edges": int((same & known).sum()),
        "inter_edges": int((~same & known).sum()),
    }


@dataclass(frozen=True)
class Homophily:
    """How many edges join two nodes of one class.

    Attributes:
        share: Share of the edges within a class.
        by_chance: The share to expect if the ends of the edges were joined at random.
        num_edges: Number of edges that were counted.
    """

    share: float
    by_chance: float
    num_edges: int

    @property
    def adjusted(self) -> float | None:
        """1 where all edges are within a class, 0 where as many as by chance; None where the two
        are the same (Platonov et al., NeurIPS 2023).
        """
        if self.by_chance >= 1:
            return None
        return (self.share - self.by_chance) / (1 - self.by_chance)

    @property
    def is_high(self) -> bool | None:
        """Whether it is high; None where too little is known."""
        if self.num_edges < FEW_EDGES or self.adjusted is None:
            return None
        return self.adjusted >= HOMOPHILOUS


def measure_homophily(data: Data, labels: Tensor) -> Homophily | None:
    """Homophily of the edges between nodes whose label is not -1; None where there is none.

    By chance the ends of the edges are joined at random: a class that holds the share p of all ends
    holds both ends of the share p² of the edges.
    """
    pairs = undirected_pairs(data.edge_index)
    share = edge_homophily(pairs, labels)
    if share is None:
        return None
    ends = labels[pairs]
    ends = ends[:, (ends >= 0).all(dim=0)]
    of_class = torch.bincount(ends.flatten()).double() / ends.numel()
    return Homophily(share, float(of_class.square().sum()), ends.size(1))
