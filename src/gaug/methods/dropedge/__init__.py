"""DropEdge."""
