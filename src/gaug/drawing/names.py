"""Names that come from users, fit to be shown."""

from __future__ import annotations

import re

# Longer names are cut; no page and no line has room for a name of ten thousand characters.
LONGEST_NAME = 60

# Control characters and halves of surrogate pairs, which no file in UTF-8 may hold.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """A text with a replacement character for each that cannot be written or seen."""
    return _UNPRINTABLE.sub("\ufffd", text)


def cut(name: str, longest: int = LONGEST_NAME) -> str:
    """A user's name on one line, shortened if it is long.

    >>> cut("a  long   name", 8)
    'a long …'
    """
    line = " ".join(printable(name[: 20 * longest]).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def literal(text: str) -> str:
    r"""A text for a picture, where no dollar sign starts a formula.

    >>> literal("a $ b")
    'a \\$ b'
    """
    return printable(text).replace("$", r"\$")
