"""File extensions and their formats; does not import Matplotlib."""

from __future__ import annotations

#: Table format by file extension.
FORMAT_OF_SUFFIX = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}
#: Supported file extensions of pictures.
PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
#: File extension of a record, which holds one cell per line.
RECORD_SUFFIX = ".jsonl"
