"""Stacks: a method that changes the graph once, then one that varies it in each epoch."""
