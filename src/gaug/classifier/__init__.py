"""Fitted classifiers: what they predict, and how they are saved."""
