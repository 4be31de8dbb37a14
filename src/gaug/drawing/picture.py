"""Writing pictures, with colors that are distinguishable with any kind of color vision."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from gaug.data.folders import written_atomically

BLUE, ORANGE, GREEN, RED, GRAY = "#0060c0", "#e69f00", "#007a50", "#c04000", "#7f7f7f"


def write_picture(canvas: Figure, path: Path) -> None:
    """Write a picture atomically; the extension of the path determines the format."""
    try:
        with written_atomically(path) as temporary:
            canvas.savefig(temporary, dpi=110)
    finally:
        plt.close(canvas)
