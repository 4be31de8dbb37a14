"""From a plan to records: one path for everything that trains repeatedly."""
