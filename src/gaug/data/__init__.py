"""Graphs in: the catalog, splits, features and synthetic graphs."""
