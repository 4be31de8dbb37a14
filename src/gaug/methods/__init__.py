"""Augmentation methods."""
