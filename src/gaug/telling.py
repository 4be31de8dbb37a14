"""Warnings that name the line of the user's program, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

# Between the user's line and ours, where a module of PyTorch is called.
_SKIPPED = {__name__.partition(".")[0], "torch", "contextlib", "functools"}


def warn(text: str) -> None:
    """Warn of something, at the innermost line that is no part of this package or of PyTorch.

    Args:
        text: What there is to say.
    """
    frame, level = sys._getframe(1), 2
    while _is_skipped(frame) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def _is_skipped(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _SKIPPED
