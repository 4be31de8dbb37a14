"""One training on several processes gives what one process gives, and ends well if one is lost."""

from __future__ import annotations

import dataclasses
import functools
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Data

from gaug import (
    BGCN,
    AdaEdge,
    AugmentedRun,
    DropEdge,
    GaugError,
    GAugM,
    GAugO,
    GAugOConfig,
    Method,
    MethodConfig,
    NoAugmentation,
    Stack,
)
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import TrainingError
from gaug.models.config import GATConfig, GCNConfig, GraphSAGEConfig
from gaug.seeding import seeded
from gaug.training.batch import Batch
from gaug.training.batches import MiniBatches
from gaug.training.hooks import Visible
from gaug.training.metrics import micro_f1
from gaug.training.ranks import PeerRanks, Ranks, ranks_here
from gaug.training.run import PreparedRuns
from gaug.training.shared_graph import shared_graph
from gaug.training.task import Task
from gaug.training.trainer import Trainer
from tests.training.together import together

pytestmark = pytest.mark.ranks

T = TypeVar("T")
_LOOP: dict[str, Any] = {"epochs": 4, "batch_size": 7, "validate_every": 1}


@functools.cache
def graph(seed: int = 0) -> Data:
    """54 training nodes, so that the last batch of 7 has 5."""
    config = SyntheticConfig(num_nodes=180, num_classes=3, degree=5.0, num_features=20, seed=seed)
    data = planted_graph(config)
    return make_split(data, "stratified", SplitConfig(train_fraction=0.3)).apply(data)


def without_dropout() -> dict[str, Any]:
    """Methods whose loss is that of the training nodes, without random numbers in a step."""
    gcn = GCNConfig(hidden=8, dropout=0.0)
    gat = GATConfig(hidden=4, heads=2, dropout=0.0, input_dropout=0.0, attention_dropout=0.0)
    predictor = {"gae": {"predictor_epochs": 5}}
    return {
        "gcn": NoAugmentation(model=gcn, **_LOOP),
        "gsage": NoAugmentation(model=GraphSAGEConfig(hidden=8, dropout=0.0), **_LOOP),
        "gat": NoAugmentation(model=gat, **_LOOP),
        "gaug-m": GAugM(model=gcn, predictors=predictor, **_LOOP),
        "gaug-m, two rounds": GAugM(model=gcn, predictors=predictor, rounds=2, **_LOOP),
        "patience": NoAugmentation(model=gcn, patience=1, **{**_LOOP, "epochs": 30}),
        "adaedge": AdaEdge(model=gcn, add_confidence=0.5, remove_confidence=0.5, **_LOOP),
        "last": NoAugmentation(model=gcn, selection="last", **_LOOP),
    }


def with_parts_of_their_own() -> dict[str, Any]:
    """Methods that draw in a step, or whose loss is of all nodes that a rank has."""
    gcn = GCNConfig(hidden=8)
    short = GAugOConfig(engine="sparse", pretrain_predictor_epochs=2, pretrain_classifier_epochs=2)
    to_change = GAugM(predictor="ra")
    return {
        "dropedge": DropEdge(model=gcn, **_LOOP),
        "gaug-o": GAugO(short, model=gcn, **_LOOP),
        "gaug-o, gat": GAugO(short, model="gat", **_LOOP),
        "consistency": NoAugmentation(model=gcn, consistency_passes=2, **_LOOP),
        "students": NoAugmentation(model=gcn, students=1, **_LOOP),
        "bgcn": BGCN(model=gcn, graphs=2, **_LOOP),
        "gaug-m+gaug-o": Stack(to_change, GAugO(short), model=gcn, **_LOOP),
        "gaug-m+dropedge": Stack(to_change, DropEdge(), model=gcn, **_LOOP),
    }


def fitted(method: Any, data: Data | None = None, **options: Any) -> dict[str, Any]:
    classifier = method.fit(graph() if data is None else data, **options)
    network = classifier.fitted.network
    if network is None:  # BGCN keeps what it predicted
        weights = {"probabilities": classifier.probabilities}
    else:
        weights = dict(network.state_dict())
    return {"weights": weights, "facts": classifier.summary}


def told(work: Callable[[], object]) -> str:
    """The message of an error."""
    with pytest.raises(GaugError) as caught:
        work()
    return str(caught.value)


def work_of_two(rank: int, folder: Path) -> dict[str, Any]:
    gcn = GCNConfig(hidden=8, dropout=0.0)
    validations = validations_of(NoAugmentation(model=gcn, **_LOOP))
    with ranks_here() as ranks:
        shared = shared_graph(graph() if rank == 0 else None, ranks)
        files = mapped_files()
        together_gradients = gradients_of_gaug_o(ranks)
    return {
        "fits": {
            name: fitted(one)
            for name, one in {**without_dropout(), **with_parts_of_their_own()}.items()
        },
        "of one copy": fitted(NoAugmentation(model=gcn, **_LOOP), shared),
        "files": files,
        "gradients": together_gradients,
        "validations": validations,
        "errors": {
            "whole graph": told(lambda: NoAugmentation().fit(graph())),
            "small": told(lambda: NoAugmentation(batch_size=1).fit(graph())),
            "method": told(lambda: Stranger(StrangerConfig(), batch_size=7).fit(graph())),
            "graphs": told(lambda: NoAugmentation(batch_size=7).fit(graph(seed=rank))),
            "settings": told(lambda: NoAugmentation(batch_size=7, seed=rank).fit(graph())),
            "first": told(lambda: fit_of_a_method_that_only_the_first_refuses()),
        },
    }


def validations_of(method: NoAugmentation) -> int:
    """How often this rank validates while all fit together."""
    count = 0

    def counted(logits: Tensor, labels: Tensor) -> float:
        nonlocal count
        count += 1
        return micro_f1(logits, labels)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gaug.training.trainer.micro_f1", counted)
        fitted(method)
    return count


@dataclass(frozen=True)
class StrangerConfig(MethodConfig):
    name: ClassVar[str] = "stranger"
    title: ClassVar[str] = "A user's own"


class Stranger(Method[StrangerConfig]):
    config_type = StrangerConfig

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        pytest.fail("it was started")


def fit_of_a_method_that_only_the_first_refuses() -> None:
    class Careful(NoAugmentation):
        def _check_memory(self, task: Task, config: Any) -> int:
            raise TrainingError("Not enough of anything.")

    Careful(batch_size=7).fit(graph())


def mapped_files() -> set[str]:
    """The inodes of the files of graphs that are mapped into this process."""
    if sys.platform != "linux":
        return set()
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split()[4] for line in lines if "graph.safetensors" in line}


@given(size=st.integers(2, 9), count=st.integers(1, 30))
def test_the_parts_of_all_ranks_are_the_nodes_of_a_step(size: int, count: int) -> None:
    nodes = torch.arange(100, 100 + count)
    ranks = [Apart(rank, size) for rank in range(size)]
    shares = [PeerRanks.share(one, count) for one in ranks]
    counted = [one.part(nodes) for one, share in zip(ranks, shares, strict=True) if share > 0]
    assert torch.cat(counted).tolist() == nodes.tolist()
    assert all(one.part(nodes).numel() for one in ranks)
    assert shares == [part.numel() / count for part in counted] + [0.0] * (size - len(counted))


def test_ranks_draw_different_numbers_which_their_key_decides() -> None:
    def drawn(rank: int, *key: int) -> list[float]:
        generator = torch.Generator().manual_seed(1)
        with seeded(0):
            Apart(rank).draw_anew(generator, key)
            return [float(torch.rand(())), float(torch.rand((), generator=generator))]

    unchanged = drawn(0, 5, 0, 1)
    assert unchanged == drawn(0, 5, 0, 2)
    found = [unchanged, drawn(1, 5, 0, 1), drawn(1, 5, 0, 2), drawn(1, 5, 1, 1), drawn(2, 5, 0, 1)]
    assert len({number for numbers in found for number in numbers}) == 10
    assert drawn(1, 5, 0, 1) == found[1]


def work_of_three(rank: int, folder: Path) -> dict[str, Any]:
    return fitted(last_batch_of_one())


def last_batch_of_one() -> NoAugmentation:
    gcn = GCNConfig(hidden=8, dropout=0.0)
    return NoAugmentation(model=gcn, epochs=3, batch_size=53, validate_every=1)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return together(2, work_of_two, tmp_path_factory.mktemp("two"))


def assert_same_weights(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", without_dropout())
def test_two_ranks_with_half_a_batch_each_give_the_weights_of_one(
    two: list[dict[str, Any]], name: str
) -> None:
    expected = fitted(without_dropout()[name])
    for of_rank in two:
        found = of_rank["fits"][name]
        assert_same_weights(found["weights"], expected["weights"])
        assert found["facts"].best_epoch == expected["facts"].best_epoch
        assert found["facts"].epochs == expected["facts"].epochs
        assert found["facts"].val_score == pytest.approx(expected["facts"].val_score)


@pytest.mark.parametrize("name", [*without_dropout(), *with_parts_of_their_own()])
def test_all_ranks_have_the_same_classifier(two: list[dict[str, Any]], name: str) -> None:
    first, other = (of_rank["fits"][name] for of_rank in two)
    for weight, copy in zip(first["weights"].values(), other["weights"].values(), strict=True):
        assert torch.equal(weight, copy)
    assert first["facts"] == other["facts"]


def test_each_epoch_is_validated_once_by_the_first_rank(two: list[dict[str, Any]]) -> None:
    assert [of_rank["validations"] for of_rank in two] == [_LOOP["epochs"], 0]


def test_three_ranks_go_through_a_last_batch_of_one_node(tmp_path: Path) -> None:
    assert int(graph().train_mask.sum()) == 54
    expected = fitted(last_batch_of_one())
    for found in together(3, work_of_three, tmp_path):
        assert_same_weights(found["weights"], expected["weights"])


class Apart(PeerRanks):
    """A rank that takes its part and knows nothing of the others."""

    def __init__(self, rank: int, size: int = 2) -> None:
        self.rank, self.size = rank, size

    def share(self, count: int) -> float:
        return 1.0

    def mean(self, values: Sequence[float], share: float) -> list[float]:
        return list(values)

    def average_gradients(self, parameters: Iterable[nn.Parameter], share: float) -> None:
        pass

    def take_over(self, tensors: Iterable[Tensor]) -> None:
        pass

    def of_first(self, make: Callable[[], T]) -> T:
        return make()


def gradients_of_gaug_o(ranks: Ranks) -> list[Tensor]:
    """The gradients of one joint step, of the classifier and of the edge predictor.

    A step takes all training nodes but one, so that two ranks have parts of 27 and 26.
    """
    task = dataclasses.replace(Task.of(graph()), ranks=ranks)
    method = GAugO(
        model=GCNConfig(hidden=8),
        alpha=0.5,
        engine="sparse",
        pretrain_predictor_epochs=0,
        pretrain_classifier_epochs=0,
        epochs=1,
        batch_size=53,
        validate_every=1,
    )
    runs = PreparedRuns.prepare(task, method.model, method, method.training)
    torch.manual_seed(0)
    run = runs.method.start(task.visible(), torch.Generator().manual_seed(0))
    trainer = OneStep(task, runs.build_model, run, method.model.config, method.training, 0)
    trainer.train()
    return trainer.gradients


class OneStep(Trainer):
    """A training that ends with its first step."""

    gradients: list[Tensor]

    def train(self) -> None:
        stage = self._begun(self.run.next_round(None))
        assert stage is not None
        self.ranks.draw_anew(self.run.generator, (self.seed, 0, 1))
        batch: Batch = next(iter(stage.batches.epoch(1)))
        after_step = self.run.after_step

        def note() -> None:
            parameters = [*self._model().parameters(), *self.run.parameters()]
            self.gradients = [one.grad.clone() for one in parameters if one.grad is not None]
            assert len(self.gradients) == len(parameters)
            after_step()

        self.run.after_step = note  # type: ignore[method-assign]
        self.steps.take(self.run, stage, self.model, batch, 1, self.ranks.share(53))


def test_the_gradient_of_gaug_o_is_the_mean_of_what_each_part_gives_alone(
    two: list[dict[str, Any]],
) -> None:
    """With dropout and sampled graphs: each rank has its own subgraph and random numbers."""
    first, second = (gradients_of_gaug_o(Apart(rank)) for rank in (0, 1))
    assert not all(torch.allclose(a, b) for a, b in zip(first, second, strict=True))
    for of_rank in two:
        for found, one, other in zip(of_rank["gradients"], first, second, strict=True):
            torch.testing.assert_close(found, (27 * one + 26 * other) / 53, rtol=1e-4, atol=1e-7)


def test_a_machine_holds_the_graph_once(two: list[dict[str, Any]]) -> None:
    first, other = two
    gcn = GCNConfig(hidden=8, dropout=0.0)
    expected = fitted(NoAugmentation(model=gcn, **_LOOP))
    assert_same_weights(other["of one copy"]["weights"], expected["weights"])
    if sys.platform == "linux":
        assert first["files"]
        assert first["files"] == other["files"]


def test_nothing_is_left_of_the_file_of_the_graph(tmp_path: Path) -> None:
    together(2, work_in_a_scratch_folder, tmp_path)
    assert list((tmp_path / "scratch").iterdir()) == []


def work_in_a_scratch_folder(rank: int, folder: Path) -> None:
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    tempfile.tempdir = str(scratch)
    with ranks_here() as ranks:
        shared_graph(graph(), ranks)


def test_errors_are_the_same_on_all_ranks(two: list[dict[str, Any]]) -> None:
    first, other = (of_rank["errors"] for of_rank in two)
    assert first == other
    assert "without batch_size a step is on the whole graph. Set batch_size" in first["whole graph"]
    assert "at least the number of processes, 2, which split each batch, got 1" in first["small"]
    assert "The method stranger cannot train in 2 processes together" in first["method"]
    assert "must train on the same graph, got one with the fingerprint" in first["graphs"]
    assert "the same settings, got NoAugmentation(batch_size=7) with seed 0" in first["settings"]
    assert "and NoAugmentation(batch_size=7) with seed 1" in first["settings"]
    assert first["first"] == "Not enough of anything."


def noisy() -> DropEdge:
    return DropEdge(model=GCNConfig(hidden=8), epochs=6, batch_size=7, validate_every=1)


def work_left_alone(rank: int, folder: Path) -> dict[str, Any]:
    return fitted(noisy())


def work_that_is_killed(rank: int, folder: Path) -> tuple[str, float]:
    """On the rank that is left: what it tells, and the seconds since the other was killed."""
    if rank == 1:
        whole_epoch = MiniBatches.epoch

        def epoch(self: MiniBatches, number: int) -> Iterator[Batch]:
            if number == 4:
                (folder / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return whole_epoch(self, number)

        MiniBatches.epoch = epoch  # type: ignore[method-assign]
    saving: dict[str, Any] = {"checkpoint": checkpoint_in(folder), "checkpoint_seconds": 0}
    message = told(lambda: fitted(noisy(), **saving))
    return message, time.time() - (folder / "killed").stat().st_mtime


def work_that_goes_on(rank: int, folder: Path) -> dict[str, Any]:
    epochs: list[float] = []
    found = fitted(
        noisy(),
        checkpoint=checkpoint_in(folder),
        on_progress=lambda now: epochs.append(now.epochs),
    )
    return {**found, "epochs": epochs}


def checkpoint_in(folder: Path) -> Path:
    return folder.parent / "fit.checkpoint"


def test_a_killed_rank_is_told_and_the_same_call_goes_on_to_the_same_weights(
    tmp_path: Path,
) -> None:
    """Also with dropout and dropped edges: each rank draws on where it was."""
    folders = [tmp_path / name for name in ("alone", "killed", "resumed")]
    for folder in folders:
        folder.mkdir()
    alone = together(2, work_left_alone, folders[0])
    (message, seconds), _ = together(2, work_that_is_killed, folders[1], lost=1)
    assert seconds < 60
    assert "Another process of this training has ended or cannot be reached" in message
    assert "they go on from the last checkpoint" in message
    assert "(Read error" in message or "(Connection closed" in message
    copy = shutil.copy(checkpoint_in(folders[1]), tmp_path / "copy")
    resumed = together(2, work_that_goes_on, folders[2])
    assert min(resumed[0]["epochs"]) > 3
    assert resumed[1]["epochs"] == []
    for found, expected in zip(resumed, alone, strict=True):
        for name, weight in expected["weights"].items():
            assert torch.equal(found["weights"][name], weight)
    assert not checkpoint_in(folders[2]).exists()
    epochs: list[float] = []
    fitted(noisy(), checkpoint=copy, on_progress=lambda now: epochs.append(now.epochs))
    assert min(epochs) > 3  # one process goes on from it, too
