"""The one training loop, its metrics and repeated runs."""
