"""AdaEdge."""
