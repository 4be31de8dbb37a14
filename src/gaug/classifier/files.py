"""The folder of a saved classifier: JSON for its description, safetensors for its numbers.

Nothing is unpickled. Checksums of both files detect truncated or modified files. The folder is
written atomically.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from gaug.errors import DataError

#: The file type in the JSON file.
FORMAT = "gaug classifier"

#: Increased when older versions of gaug can no longer read the files.
FORMAT_VERSION = 1

DESCRIPTION = "model.json"
TENSORS = "weights.safetensors"
#: The page that 'gaug fit' writes beside them.
PAGE = "report.html"


def check_target(folder: Path) -> None:
    """Raise unless the folder is new, empty, or contains a saved classifier."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file. Give a folder to write to.")
    others = sorted(
        path.name
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.name not in (DESCRIPTION, TENSORS, PAGE)
    )
    if others:
        raise DataError(
            f"The folder {folder} is not a saved model: it contains {others[0]}. Use another."
        )


def check_writable(folder: Path) -> None:
    """Raise an `OSError` now, not after hours of training, if the folder cannot be written."""
    parent = folder.resolve().parent
    existing = next(one for one in (parent, *parent.parents) if one.exists())
    with tempfile.TemporaryDirectory(dir=existing, prefix=f".{folder.name}-"):
        pass


def write_folder(
    folder: Path, description: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """Write both files, replacing an earlier saved classifier in the folder.

    Args:
        folder: Where to write.
        description: The content of the JSON file.
        tensors: The content of the safetensors file.
    """
    folder = folder.resolve()  # a folder cannot be replaced under the name "."
    check_target(folder)
    numbers = save_tensors({name: value.cpu().clone() for name, value in tensors.items()})
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **description,
        "tensors_sha256": hashlib.sha256(numbers).hexdigest(),
    }
    text = json.dumps({**content, "checksum": _checksum(content)}, indent=2, allow_nan=False)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        new = Path(scratch) / "new"
        new.mkdir()
        (new / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
        (new / TENSORS).write_bytes(numbers)
        if folder.exists():
            folder.rename(Path(scratch) / "old")
        new.rename(folder)


def read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The validated description and tensors of a saved classifier.

    Raises:
        DataError: If it is not a saved classifier, damaged, or from a newer version.
    """
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}. 'gaug fit' creates one.")
    for name in (DESCRIPTION, TENSORS):
        if not (folder / name).is_file():
            raise DataError(f"{folder} is not a saved model: it has no {name}.")
    try:
        content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise _damaged(folder, f"{DESCRIPTION} cannot be read") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{folder} is not a saved model: {DESCRIPTION} was not written by gaug.")
    version = content.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise DataError(
            f"The model in {folder} has format version {version!r}; this gaug reads up to"
            f" {FORMAT_VERSION}. Use the version that wrote it ({content.get('gaug_version')}) or a"
            " newer one."
        )
    checksum = content.pop("checksum", None)
    if checksum != _checksum(content):
        raise _damaged(folder, f"{DESCRIPTION} is not as it was written")
    try:
        numbers = (folder / TENSORS).read_bytes()
    except OSError as error:
        raise _damaged(folder, f"{TENSORS} cannot be read") from error
    if hashlib.sha256(numbers).hexdigest() != content["tensors_sha256"]:
        raise _damaged(folder, f"{TENSORS} is not as it was written")
    try:
        return content, load_tensors(numbers)
    except SafetensorError as error:
        raise _damaged(folder, f"{TENSORS} is not a safetensors file") from error


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _damaged(folder: Path, what: str) -> DataError:
    return DataError(
        f"The model in {folder} is damaged: {what}. A file is truncated or was modified. Copy it"
        " or fit it again."
    )
