"""What a graph looks like, and which method may help."""
