"""What a result depends on: software versions, and the commit of a checkout."""

from __future__ import annotations

import functools
import platform
import subprocess
from importlib import metadata
from pathlib import Path


@functools.lru_cache(maxsize=1)
def software_versions() -> dict[str, str]:
    """Versions of gaug and of the packages that its results depend on."""
    packages = ("gaug", "torch", "torch_geometric", "numpy")
    return {name: metadata.version(name) for name in packages} | {
        "python": platform.python_version()
    }


@functools.lru_cache(maxsize=1)
def checkout_commit() -> str | None:
    """Commit of the checkout that gaug runs from, if any."""
    checkout = Path(__file__).parents[2]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
