"""Work that cannot be sent to another process, told in words for its author."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator

from gaug.errors import ConfigError, reason_of


@contextlib.contextmanager
def unsendable_told(receiver: str, remedy: str) -> Iterator[None]:
    """Turn what pickling raises into an error that says what to do.

    Args:
        receiver: Where the work would be sent.
        remedy: Where to define what cannot be sent, or what else to do.
    """
    try:
        yield
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if "pickle" not in f"{type(error).__name__} {error}".lower():
            raise
        raise ConfigError(
            f"A run cannot be sent to {receiver}: {reason_of(error)}. Define your own models,"
            f" methods and predictors {remedy}."
        ) from error
