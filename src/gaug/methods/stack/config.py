"""The settings of a stack: those of both of its parts, side by side."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from gaug.edge_predictors.config import PredictorConfig
from gaug.errors import ConfigError
from gaug.training.config import MethodConfig, TrainingConfig

_PARTS = (
    "A stack is a method that changes the graph once, then one that varies it in each epoch, for"
    " instance gaug-m+dropedge"
)
_WHEN = {"once": "changes the graph once", "each epoch": "varies the graph in each epoch"}


@dataclass(frozen=True)
class StackConfig(MethodConfig):
    """Base class of the settings of a `Stack`; `stack_config_type` makes one for two methods.

    It has the settings of both parts under their own names. Where both have a setting of one name,
    the name of its part comes first: ``mine_rounds``, which may be written ``mine.rounds``.

    Attributes:
        part_types: The settings of the parts.
    """

    part_types: ClassVar[tuple[type[MethodConfig], type[MethodConfig]]]

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.parts  # checks what they say of their settings together

    @property
    def parts(self) -> tuple[MethodConfig, MethodConfig]:
        """The settings of the two methods."""
        first, second = (
            kind(**{own: getattr(self, here) for own, here in _names(self.part_types, place)})
            for place, kind in enumerate(self.part_types)
        )
        return first, second

    @property
    def changing(self) -> MethodConfig:
        """The settings of the first part."""
        return self.parts[0]

    def spelled(self, name: str) -> str:
        """The name of a setting here, which may have been written ``gaug-m.add_fraction``."""
        part, _, own = name.rpartition(".")
        for place, kind in enumerate(self.part_types):
            if part == kind.name:
                return f"method.{dict(_names(self.part_types, place)).get(own, own)}"
        return name

    def predictor_configs(self) -> dict[str, PredictorConfig]:
        """The default settings of the edge predictors that both parts name."""
        return {
            name: config for part in self.parts for name, config in part.predictor_configs().items()
        }

    def check_training(self, training: TrainingConfig) -> None:
        """Raise if a setting of a part would do nothing with these settings of the loop."""
        for part in self.parts:
            part.check_training(training)

    def resolved(self, num_nodes: int) -> StackConfig:
        """The settings for a graph of this size, with every ``auto`` of both parts decided."""
        first, second = (part.resolved(num_nodes) for part in self.parts)
        return stack_config(first, second)

    def __reduce__(self) -> tuple[Any, ...]:
        # Its class is made anew where it is read, so it has no name to be found by.
        return stack_config, self.parts


def stack_config(first: MethodConfig, second: MethodConfig) -> StackConfig:
    """The settings of a stack of two methods with these settings.

    >>> from gaug.methods.dropedge.config import DropEdgeConfig
    >>> from gaug.methods.gaug_m.config import GAugMConfig
    >>> both = stack_config(GAugMConfig(add_fraction=0.5), DropEdgeConfig())
    >>> both.name, both.to_dict()["add_fraction"], both.to_dict()["drop_fraction"]
    ('gaug-m+dropedge', 0.5, 0.5)
    """
    parts, kinds = (first, second), (type(first), type(second))
    values = {
        here: getattr(part, own)
        for place, part in enumerate(parts)
        for own, here in _names(kinds, place)
    }
    made = stack_config_type(*kinds)  # type: ignore[arg-type]  # mypy: classes are not hashable
    return made(**values)


@functools.cache
def stack_config_type(first: type[MethodConfig], second: type[MethodConfig]) -> type[StackConfig]:
    """The class of the settings of a stack.

    Args:
        first: Settings of the method that changes the graph once.
        second: Settings of the method that varies it in each epoch.

    Raises:
        ConfigError: If the methods are not of these kinds.
    """
    name = f"{first.name}+{second.name}"
    if (first.changes, second.changes) != ("once", "each epoch"):
        raise ConfigError(f"{_PARTS}; in {name!r}, {_kinds(first, second)}.")
    parts = (first, second)
    shared = {one.name for one in dataclasses.fields(first)}
    shared &= {one.name for one in dataclasses.fields(second)}
    fields = []
    for place, kind in enumerate(parts):
        hints = typing.get_type_hints(kind)
        declared = {one.name: one for one in dataclasses.fields(kind)}
        for own, here in _names(parts, place):
            field = declared[own]
            again: Any = dataclasses.field(default=field.default, metadata=dict(field.metadata))
            fields.append((here, hints[own], again))
    made = dataclasses.make_dataclass(
        f"{first.__name__}And{second.__name__}",
        fields,
        bases=(StackConfig,),
        frozen=True,
        namespace={
            "__doc__": f"Settings of {first.title}, and of {second.title} on its graph.",
            "__module__": __name__,
            "name": name,
            "on_ranks": first.on_ranks and second.on_ranks,
            "title": f"{first.title} + {second.title}",
            "part_types": parts,
            "ambiguous": {one: tuple(f"{kind.name}.{one}" for kind in parts) for one in shared},
        },
    )
    return cast("type[StackConfig]", made)


def _names(
    parts: tuple[type[MethodConfig], type[MethodConfig]], place: int
) -> Iterator[tuple[str, str]]:
    """The settings of a part: the name of each there, and in the stack."""
    theirs = {one.name for one in dataclasses.fields(parts[1 - place])}
    for field in dataclasses.fields(parts[place]):
        both = field.name in theirs
        yield field.name, _qualified(parts[place], field.name) if both else field.name


def _qualified(part: type[MethodConfig], setting: str) -> str:
    return f"{part.name.replace('-', '_')}_{setting}"


def _kinds(first: type[MethodConfig], second: type[MethodConfig]) -> str:
    """Why two methods cannot be stacked."""
    if first.changes == second.changes and first.changes is not None:
        return f"each part {_WHEN[first.changes]}"
    if (first.changes, second.changes) == ("each epoch", "once"):
        return f"they are the other way round: write {second.name}+{first.name}"
    neither = [part.name for part in (first, second) if part.changes is None]
    return f"{' and '.join(neither)} {'do' if neither[1:] else 'does'} neither"
