"""Node classifiers."""
