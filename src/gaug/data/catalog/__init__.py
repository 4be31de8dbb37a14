"""The graphs that are known by name."""
