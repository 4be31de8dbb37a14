"""A valid graph, its change, and what a GNN layer multiplies by."""
