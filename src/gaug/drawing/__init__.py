"""Tables and pictures, one style for all."""
