"""Settings and methods chosen on validation nodes."""
