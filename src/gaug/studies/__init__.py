"""One file a table or figure of the paper: which runs it needs."""
