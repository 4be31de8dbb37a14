"""A short fingerprint of a graph."""

from __future__ import annotations

import hashlib

import torch
from torch_geometric.data import Data


def graph_hash(data: Data, *, with_labels: bool = True) -> str:
    """A short fingerprint of nodes, edges, features and, unless left out, labels."""
    digest = hashlib.sha256(str(data.num_nodes).encode())
    parts = [data.edge_index, data.get("edge_weight"), data.y if with_labels else None]
    if data.x is None:
        parts.append(None)
    elif data.x.layout == torch.sparse_csr:
        parts += [data.x.crow_indices(), data.x.col_indices(), data.x.values()]
    else:
        parts.append(data.x)
    for part in parts:
        if part is not None:
            digest.update(str((tuple(part.shape), part.dtype)).encode())
            digest.update(part.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]
