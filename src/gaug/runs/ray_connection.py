"""The connection of this process with a Ray cluster."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket

from gaug.errors import ConfigError, reason_of

# What Ray itself waits for before it gives up goes up to a quarter of an hour.
_SECONDS_TO_ANSWER = 5.0
_DEFAULTS = {
    # What happens to machines would be printed on standard output, which may be JSON.
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",
    "RAY_NUM_REDIS_GET_RETRIES": "1",
    "RAY_py_gcs_connect_timeout_s": "15",
    "RAY_gcs_rpc_server_connect_timeout_s": "15",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what Ray warns will be the default
}
_CLIENT = "ray://"
_CLIENT_PORT, _PORT = 10001, 6379


def import_ray(*parts: str) -> None:
    """Import Ray, with what it reads from the environment when it is imported.

    Args:
        parts: Modules of it that need more than Ray itself, which are imported, too.

    Raises:
        ConfigError: If something is not installed.
    """
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    try:
        for module in ("ray", *parts):
            importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"A cluster needs Ray ({reason_of(error)}). Install it with: pip install"
            " 'gaug[cluster]'."
        ) from error


def connect(address: str) -> bool:
    """Connect to a cluster, unless this process is connected with one already.

    Args:
        address: ``auto`` for the one that runs on this machine or that ``RAY_ADDRESS`` names,
            ``host:port``, or ``ray://host:port`` for a cluster that this machine is no part of.

    Returns:
        Whether it was connected here, so that it is to be disconnected again.

    Raises:
        ConfigError: If there is none, or one of another version.
    """
    import_ray()
    import ray

    if ray.is_initialized():
        return False
    named = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    if named != "auto":
        _check_that_something_answers(named)
    try:
        _init(named)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        with contextlib.suppress(Exception):
            ray.shutdown()
        if "ersion mismatch" in str(error):
            words = " ".join(str(error).split())
            raise ConfigError(
                f"The cluster {address} has another version of Ray or Python: {words} Install the"
                " same there and here."
            ) from error
        if address == "auto" and named == "auto":
            raise ConfigError(
                "There is no Ray cluster on this machine. Start one with 'ray start --head', or"
                " give the address of another: host:port or ray://host:port."
            ) from error
        if isinstance(error, ConnectionAbortedError):
            raise ConfigError(
                f"The Ray cluster at {address} started no server for this machine"
                f" ({reason_of(error)}). Try again, or look into ray_client_server.err there."
            ) from error
        raise _no_cluster(address, reason_of(error)) from error
    return True


def _init(address: str) -> None:
    """Connect, and once more where what serves a caller from outside could not start.

    A busy head gives up on a server that does not answer within half a minute.
    """
    import ray

    for again in (True, False):
        try:
            # Quiet, as this process has progress of its own to show.
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except ConnectionAbortedError:
            if not again:
                raise
            with contextlib.suppress(Exception):
                ray.shutdown()
        else:
            return


def _check_that_something_answers(address: str) -> None:
    """Raise at once if nothing listens there, which Ray would go on trying for minutes."""
    client = address.startswith(_CLIENT)
    host, colon, port = address.removeprefix(_CLIENT).rpartition(":")
    if not colon:
        host, port = port, str(_CLIENT_PORT if client else _PORT)
    host = host.strip("[]")  # of an IPv6 address
    if not host or not port.isdigit():
        raise ConfigError(
            f"The address of a cluster must be auto, host:port or ray://host:port, got {address!r}."
        )
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, reason_of(error)) from error


def _no_cluster(address: str, reason: str) -> ConfigError:
    return ConfigError(
        f"There is no Ray cluster at {address} ({reason}). 'ray start --head' starts one and tells"
        " its address."
    )
