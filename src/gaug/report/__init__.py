"""Records and studies as tables and pictures."""
