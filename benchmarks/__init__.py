"""Speed and memory as ratios, taken in one run against a plain peer."""
