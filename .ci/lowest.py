"""Print the lower bound of each dependency in pyproject.toml as a pin, for `make lowest`.

Covered are the dependencies of gaug, of its extra `test` and of those that this names. Needs Python
3.11 or newer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_OWN = re.compile(r"gaug\[(?P<extras>[a-z,]+)\]")
# Constraints have no extras: `ray[client]` is pinned like `ray`.
_BOUND = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[a-z,]+\])?>=(?P<version>[0-9.]+)")


def lowest_pins(requirements: Iterable[str]) -> list[str]:
    """`numpy>=1.26` becomes `numpy==1.26`; gaug's own extras are left out."""
    pins = []
    for requirement in requirements:
        if _OWN.fullmatch(requirement):
            continue
        bound = _BOUND.fullmatch(requirement)
        if bound is None:
            raise ValueError(f"A dependency must be of the form name>=version, got {requirement}.")
        pins.append(f"{bound['name']}=={bound['version']}")
    return pins


def declared(pyproject: Path) -> list[str]:
    """The requirements of the project and of the extras that its tests need."""
    import tomllib

    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    found = [*project["dependencies"], *extras["test"]]
    for own in filter(None, map(_OWN.fullmatch, extras["test"])):
        found += [line for name in own["extras"].split(",") for line in extras[name]]
    return found


if __name__ == "__main__":
    print(*lowest_pins(declared(Path(__file__).parents[1] / "pyproject.toml")), sep="\n")
