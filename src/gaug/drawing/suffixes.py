"""The endings of file names, and what they mean; known without Matplotlib."""

from __future__ import annotations

#: The format of a table that the ending of a file name means.
FORMAT_OF_SUFFIX = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}
#: The endings of pictures that can be written.
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
