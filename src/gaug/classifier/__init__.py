"""Fitted classifiers: prediction, saving and loading."""
