"""Settings of a graph and of its split, which can be checked before PyTorch is imported."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from gaug.config import Config, Range, setting
from gaug.data.files.graph_files import KNOWN_SUFFIXES
from gaug.data.tables.text_lines import plain_suffix
from gaug.errors import ConfigError, DataError

#: The parts of a split.
PARTS = ("train", "val", "test")
#: The kinds of splits; a file is the other way to give one.
KINDS = ("public", "random", "stratified", "per-class")
#: The other way, as the end of a sentence.
OR_SPLIT_FILE = "or a file: an .npz, or a table of nodes and parts"
#: How features may be scaled.
SCALINGS = ("as-is", "rows", "columns")

#: Share of the labeled nodes that train, on the user's own graph.
TRAIN_FRACTION = 0.6
#: The same for a graph of the catalog, as in the paper.
CATALOG_TRAIN_FRACTION = 0.1
#: Share of the labeled nodes that validate, also where a classifier is fitted without a split.
VAL_FRACTION = 0.2


@dataclass(frozen=True)
class DataConfig(Config):
    """Settings of the graph itself."""

    feature_scaling: str = setting(
        "default",
        "as-is; rows: each node's features sum to 1; columns: each feature has mean 0 and"
        " deviation 1; default: the graph's own choice.",
        choices=("default", *SCALINGS),
    )


@dataclass(frozen=True)
class SplitConfig(Config):
    """Settings of the splits that are drawn; a public or a given split takes none of them."""

    train_fraction: float | None = setting(
        None,
        "Share of the labeled nodes for training; by default"
        f" {TRAIN_FRACTION:g} for your own graph and {CATALOG_TRAIN_FRACTION:g} for one of the"
        " catalog, as in the paper.",
        within=Range(0, 1, True, True),
    )
    val_fraction: float = setting(
        VAL_FRACTION, "Share of the labeled nodes for validation.", within=Range(0, 1, True, True)
    )
    labels_per_class: int = setting(
        20, "Training nodes per class of a per-class split.", within=Range(1)
    )
    split_seed: int = setting(0, "Seed of the split; all runs share one split.", within=Range(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train_fraction is not None and self.train_fraction + self.val_fraction >= 1:
            raise ConfigError(
                "train_fraction + val_fraction must be below 1 to leave test nodes,"
                f" got {self.train_fraction:g} + {self.val_fraction:g}."
            )

    def resolved(self, train_fraction: float = TRAIN_FRACTION) -> SplitConfig:
        """The same settings, with this share for training unless one is set.

        Raises:
            ConfigError: If the two fractions leave no test nodes.
        """
        if self.train_fraction is not None:
            return self
        return dataclasses.replace(self, train_fraction=train_fraction)


def is_split_file(kind: str) -> bool:
    """Whether a split is named by a file rather than by its kind."""
    return kind not in KINDS and plain_suffix(Path(kind)) in KNOWN_SUFFIXES["split"]


def check_split(kind: str) -> None:
    """Raise unless this is a kind of split or a file that exists."""
    if is_split_file(kind):
        if not Path(kind).is_file():
            raise DataError(f"There is no split file {kind}.")
    elif kind not in KINDS:
        raise unknown_split(kind)


def unknown_split(kind: str) -> ConfigError:
    """The error for what is neither a kind of split nor a file."""
    return ConfigError(f"Unknown split {kind!r}. Choose from: {', '.join(KINDS)}, {OR_SPLIT_FILE}.")
