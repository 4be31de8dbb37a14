"""The one training loop, one run by it, and what it measures."""
