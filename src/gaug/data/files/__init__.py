"""The user's own graph from files."""
