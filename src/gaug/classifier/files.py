"""The folder of a saved classifier: JSON for what it is, safetensors for its numbers.

Nothing is unpickled. Both files carry checksums, so that a file that is cut off or changed is found
out; the folder appears in one step.
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

#: What the JSON file says that it is.
FORMAT = "gaug classifier"

#: Raised when an older gaug could not read what is written any more.
FORMAT_VERSION = 1

DESCRIPTION = "model.json"
TENSORS = "weights.safetensors"


def check_target(folder: Path) -> None:
    """Raise unless a classifier can be written there: a new or empty folder, or a saved one."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file. Give a folder to write to.")
    others = sorted(
        path.name
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.name not in (DESCRIPTION, TENSORS)
    )
    if others:
        raise DataError(
            f"The folder {folder} holds what is no saved model ({others[0]}). Give another."
        )


def write_folder(
    folder: Path, description: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> None:
    """Write both files; an earlier saved classifier in the folder is replaced.

    Args:
        folder: Where to.
        description: What goes into the JSON file.
        tensors: What goes into the other.
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
    """Description and tensors of a saved classifier, checked.

    Raises:
        DataError: If it is no saved classifier, damaged, or of a newer version.
    """
    if not folder.is_dir():
        raise DataError(f"There is no folder {folder}. 'gaug fit' writes one.")
    for name in (DESCRIPTION, TENSORS):
        if not (folder / name).is_file():
            raise DataError(f"{folder} is no saved model: it has no {name}.")
    try:
        content = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise _damaged(folder, f"{DESCRIPTION} cannot be read") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{folder} is no saved model: {DESCRIPTION} was not written by gaug.")
    version = content.get("format_version")
    if not isinstance(version, int) or version > FORMAT_VERSION:
        raise DataError(
            f"The model in {folder} has format version {version!r}; this gaug reads up to"
            f" {FORMAT_VERSION}. Use the gaug that wrote it ({content.get('gaug_version')}), or a"
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
        raise _damaged(folder, f"{TENSORS} is no safetensors file") from error


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _damaged(folder: Path, what: str) -> DataError:
    return DataError(
        f"The model in {folder} is damaged: {what}. A file is cut off or was changed; copy it"
        " anew or fit it again."
    )
