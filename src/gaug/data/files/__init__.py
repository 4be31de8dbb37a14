"""A user's own graph from files."""
