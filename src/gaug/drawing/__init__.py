"""Tables and pictures in one style."""
