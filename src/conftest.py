"""Modules that need an extra at import have no doctests to collect where it is not installed."""

from __future__ import annotations

import importlib.util

_NEED = {
    "numba": ["gaug/pairs/fused*.py"],
    "ray": ["gaug/runs/object_store.py", "gaug/runs/ray_rank.py", "gaug/runs/ray_worker.py"],
}
collect_ignore_glob = [
    pattern
    for module, patterns in _NEED.items()
    if importlib.util.find_spec(module) is None
    for pattern in patterns
]
