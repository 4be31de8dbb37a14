"""One self-contained web page: escaped, styled, and under a strict content security policy."""
