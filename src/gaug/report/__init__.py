"""Human-readable output: summaries, tables and pictures."""
