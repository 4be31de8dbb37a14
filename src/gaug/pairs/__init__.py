"""All-pairs machinery: exact ranking of node pairs in blocks, never an N×N matrix."""
