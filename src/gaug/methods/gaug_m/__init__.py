"""GAug-M."""
