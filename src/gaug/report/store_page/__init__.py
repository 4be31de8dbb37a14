"""Everything in the store as one page."""
