"""Lines of a text file, plain or compressed, that may be damaged or malicious.

A file is read in blocks of lines. What it unpacks to, the length of a line, and its encoding are
checked on the way, so that a damaged file or a bomb ends in an error that names the line, not in a
full memory.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from gaug.errors import DataError, reason_of

#: How compressed files end.
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zip")

# Most bytes per line; a million features of 16 characters fit.
_LONGEST_LINE = 16 * 2**20
# A compressed file may unpack to this many bytes plus this many times its size. Texts take up to
# thirty times their size in memory, arrays take just their size.
_UNPACKED_BYTES = 32 * 2**20
_UNPACKED_ARRAY_BYTES = 512 * 2**20
_UNPACKED_RATIO = 20
_BLOCK = 2**20


def plain_suffix(path: Path) -> str:
    """The suffix of a file name in lower case, without that of a compression.

    >>> plain_suffix(Path("a/Edges.CSV.gz"))
    '.csv'
    """
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSIONS else suffix


def text_blocks(path: Path) -> Iterator[str]:
    """A UTF-8 file in blocks of whole lines; a mark of the byte order is left out.

    Raises:
        DataError: If the file is missing, binary, not UTF-8, damaged, or unpacks to far too much.
    """
    with opened(path) as stream:
        lines, total, most, rest = 0, 0, allowance(path), b""
        while True:
            raw = _next_bytes(stream, path)
            total += len(raw)
            if total > most:
                raise too_large(path, most)
            rest += raw
            # Only at the end of the file may a block end in the midst of a line.
            end = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1)) + 1 if raw else len(rest)
            if len(rest) - end > _LONGEST_LINE:
                raise DataError(
                    f"{path}, line {lines + _count_lines(rest[:end]) + 1:,}: a line must have at"
                    f" most {_LONGEST_LINE:,} bytes. Is it a file of rows?"
                )
            block, rest = rest[:end], rest[end:]
            if block:
                yield _decoded(path, block, lines)
                lines += _count_lines(block)
            if not raw:
                return


def lines_of(block: str) -> Iterator[str]:
    """The lines of a block, with their ends; nothing but a newline or a return ends a line."""
    return io.StringIO(block, newline="")


def _decoded(path: Path, block: bytes, lines_before: int) -> str:
    if b"\0" in block:
        line = lines_before + _count_lines(block[: block.index(b"\0")]) + 1
        raise DataError(f"{path}, line {line:,} holds a zero byte: this is no text file in UTF-8.")
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        before = block[: error.start]
        line = lines_before + _count_lines(before) + 1
        column = error.start - max(before.rfind(b"\n"), before.rfind(b"\r"))
        raise DataError(
            f"{path}, line {line:,}, byte {column:,}: the file must be UTF-8, got the byte"
            f" 0x{block[error.start]:02x}. Save it as UTF-8."
        ) from error
    return text if lines_before else text.removeprefix("\ufeff")


def _count_lines(block: bytes) -> int:
    """How many lines end in a block."""
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def allowance(path: Path) -> int:
    """How many bytes a file may unpack to."""
    size, suffix = path.stat().st_size, path.suffix.lower()
    if suffix == ".npz":
        return _UNPACKED_ARRAY_BYTES + _UNPACKED_RATIO * size
    return _UNPACKED_BYTES + _UNPACKED_RATIO * size if suffix in COMPRESSIONS else size


def too_large(path: Path, most: int) -> DataError:
    """The error for a file that unpacks to more than its allowance."""
    remedy = (
        "save it by numpy.savez, which does not pack."
        if path.suffix.lower() == ".npz"
        else "unpack it yourself and give the unpacked file."
    )
    return DataError(
        f"{path} unpacks to more than {most:,} bytes, far more than its size suggests. If that is"
        f" intended, {remedy}"
    )


def check_unpacked_size(path: Path) -> None:
    """Raise if a compressed file unpacks to more than its allowance, before anything is kept."""
    if path.suffix.lower() in COMPRESSIONS:
        with opened(path) as stream:
            total, most = 0, allowance(path)
            while part := _next_bytes(stream, path):
                total += len(part)
                if total > most:
                    raise too_large(path, most)


def read_bytes(path: Path, most: int) -> bytes:
    """The whole file, unpacked, if it has at most this many bytes."""
    with opened(path) as stream:
        parts, total, limit = [], 0, min(most, allowance(path))
        try:
            while part := stream.read(_BLOCK):
                total += len(part)
                if total > limit:
                    raise too_large(path, limit)
                parts.append(part)
        except _DAMAGE as error:
            raise _damaged(path, error) from error
    return b"".join(parts)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a regular file, unpacked while they are read."""
    check_file(path)
    suffix = path.suffix.lower()
    with contextlib.ExitStack() as stack:
        try:
            raw: BinaryIO = stack.enter_context(path.open("rb"))
            if suffix == ".gz":
                raw = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=raw)))
            elif suffix == ".bz2":
                raw = cast("BinaryIO", stack.enter_context(bz2.BZ2File(raw)))
            elif suffix == ".xz":
                raw = cast("BinaryIO", stack.enter_context(lzma.LZMAFile(raw)))
            elif suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(raw))
                members = [member for member in archive.infolist() if not member.is_dir()]
                if len(members) != 1:
                    raise DataError(
                        f"{path} must hold one file, got {len(members)}. Unpack it and give its"
                        " folder."
                    )
                raw = cast("BinaryIO", stack.enter_context(archive.open(members[0])))
        except _DAMAGE as error:
            raise _damaged(path, error) from error
        yield cast("BinaryIO", stack.enter_context(io.BufferedReader(raw, _BLOCK)))  # type: ignore[type-var]


def check_file(path: Path) -> None:
    """Raise unless it is a regular file with something in it: a device or a pipe may never end."""
    if not path.exists():
        raise DataError(f"There is no file {path}.")
    if not path.is_file():
        raise DataError(f"{path} must be a regular file.")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.")


# What unpacking a damaged file may raise; NotImplementedError and RuntimeError are zipfile's, for
# methods that it does not know and for passwords.
_DAMAGE = (
    OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError,
    RuntimeError, ValueError,
)  # fmt: skip


def _next_bytes(stream: BinaryIO, path: Path) -> bytes:
    try:
        return stream.read(_BLOCK)
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> DataError:
    if isinstance(error, DataError):
        return error
    if isinstance(error, PermissionError):
        return DataError(f"{path} cannot be read: {error.strerror}.")
    return DataError(f"{path} cannot be unpacked, it is damaged or cut off ({reason_of(error)}).")
