"""BGCN."""
