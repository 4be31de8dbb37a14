"""What all tests share: folders of their own, the real graphs, and a few tiny graphs."""

from __future__ import annotations

import dataclasses
import gc
import importlib.util
import os
import socket
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from torch_geometric.data import Data

from gaug.data.catalog.entries import CATALOG
from gaug.runs.executor import Executor

# How long an example takes depends on what else the machine does, which no test is about.
settings.register_profile("gaug", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gaug")


# What tests with these markers need; the extra of gaug is called like the marker.
_MODULES = {"cluster": "ray", "postgresql": "psycopg"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    needs = {
        extra: f"needs {module}: pip install 'gaug[{extra}]'"
        for extra, module in _MODULES.items()
        if importlib.util.find_spec(module) is None
    }
    if not os.environ.get("GAUG_DATA"):
        needs["real"] = "needs the real graphs: set GAUG_DATA to their folder"
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)
        if item.get_closest_marker("cluster") and config.pluginmanager.hasplugin("xdist"):
            # One process starts the cluster, if tests are spread over several.
            item.add_marker(pytest.mark.xdist_group("cluster"))
        for marker, reason in needs.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each thing that is missing, however many tests need it."""
    reasons = (report.longrepr for report in terminalreporter.stats.get("skipped", []))
    words = Counter(one[2].removeprefix("Skipped: ") for one in reasons if isinstance(one, tuple))
    for reason, count in sorted(words.items()):
        if reason.startswith("needs "):
            tests = "1 test was" if count == 1 else f"{count} tests were"
            terminalreporter.write_line(f"{tests} left out: {reason}")


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of the real graphs, for tests marked ``real``."""
    return Path(os.environ["GAUG_DATA"])


@pytest.fixture(scope="session")
def client_port() -> int:
    """Where the cluster answers callers that are no part of it, at ``ray://``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def cluster(client_port: int) -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine, one CPU each; they may be killed and replaced."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_worker_niceness", "0")  # with 15, workers wait for all others
    size: dict[str, Any] = {
        "num_cpus": 1,
        "object_store_memory": 100_000_000,
        "include_dashboard": False,
    }
    # A busy machine may be slow to answer, and is not lost.
    os.environ.setdefault("RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S", "120")
    patient = {"_system_config": {"health_check_timeout_ms": 60_000}}
    head = {**size, **patient, "ray_client_server_port": client_port}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Ray leaves its logs open
        made = Cluster(initialize_head=True, head_node_args=head)
        made.add_node(**size)
        gc.collect()  # so that their warnings come here and not in some test
    yield made
    made.shutdown()


@pytest.fixture(scope="session")
def on_cluster(cluster: Any) -> Iterator[Executor]:
    """The executor on that cluster, connected once: its workers take seconds to start."""
    from gaug.runs.ray_cluster import RayCluster

    with RayCluster(cluster.address) as executor:
        yield executor


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache a worker, so that each real graph is parsed once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _folders_of_our_own(
    monkeypatch: pytest.MonkeyPatch, shared_cache: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("GAUG_CACHE", str(shared_cache))
    monkeypatch.setenv("GAUG_STORE", str(tmp_path / "runs.sqlite"))


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _sparse_tensors_are_in_beta() -> None:
    # PyTorch says so once a process, in whichever test comes first.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        torch.eye(2).to_sparse_csr()


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache folder for this test alone."""
    folder = tmp_path / "own-cache"
    monkeypatch.setenv("GAUG_CACHE", str(folder))
    return folder


@pytest.fixture
def path_graph() -> Data:
    """0 - 1 - 2 - 3, the first two of class 0 and the others of class 1."""
    return Data(
        x=torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 2.0]]),
        edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]),
        y=torch.tensor([0, 0, 1, 1]),
        num_nodes=4,
    )


@pytest.fixture
def two_cliques() -> Data:
    """Triangles 0, 1, 2 and 3, 4, 5, a class each, joined by the edge 2 - 3."""
    pairs = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]
    both = sorted(pairs + [(v, u) for u, v in pairs])
    return Data(
        x=torch.eye(6)[:, :4] + 1.0,
        edge_index=torch.tensor(both).t().contiguous(),
        y=torch.tensor([0, 0, 0, 1, 1, 1]),
        num_nodes=6,
    )


AIRPORT_LABELS = "node label\n10 0\n20 1\n30 2\n40 3\n50 0\n"
AIRPORT_EDGES = "10 20\n20 30\n30 40\n40 50\n20 40\n"


@pytest.fixture
def make_airports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Makes a data root with a tiny graph in the place and format of air-usa.

    Its airports 10, 20, 30, 40 and 50 have the degrees 1, 3, 2, 3 and 1. The catalog then knows no
    counts of air-usa, or those given as ``size``.
    """

    def make(
        edges: str = AIRPORT_EDGES,
        labels: str = AIRPORT_LABELS,
        size: tuple[int, int] | None = None,
    ) -> Path:
        entry = dataclasses.replace(CATALOG["air-usa"], size=size)
        monkeypatch.setitem(CATALOG, "air-usa", entry)
        root = tmp_path / "airports-root"
        raw = root / "Airports" / "usa" / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        (raw / "usa-airports.edgelist").write_text(edges, encoding="utf-8")
        (raw / "labels-usa-airports.txt").write_text(labels, encoding="utf-8")
        return root

    return make


class MakesAFolder:
    """Unpickling it makes a folder, which shows that somebody unpickled it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


@pytest.fixture
def trap(tmp_path: Path) -> MakesAFolder:
    """An object to pickle; ``trap.folder`` exists once it is unpickled."""
    return MakesAFolder(tmp_path / "unpickled")
