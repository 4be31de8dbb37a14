"""Plans, runs and records: one path for all repeated training."""
