"""The augmentation methods by name."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from gaug.errors import ConfigError, unknown_name
from gaug.registry import Registry
from gaug.training.config import MethodConfig

if TYPE_CHECKING:
    from gaug.methods.method import Method


class MethodRegistry(Registry[MethodConfig, "Method[Any, Any]"]):
    """The methods by name, and stacks of two of them, such as ``gaug-m+dropedge``.

    Iterating names the stacks of built-in methods, too; those with methods of other packages can be
    used in the same way.
    """

    def singles(self) -> list[str]:
        """The names of the methods, without stacks."""
        return super().names()

    def names(self) -> list[str]:
        """All names, without importing what other packages add."""
        return [*self.singles(), *self._stacks]

    def __contains__(self, name: object) -> bool:
        singles = self.singles()
        return name in singles or (isinstance(name, str) and set(name.split("+")) <= set(singles))

    def config_type(self, name: str) -> type[MethodConfig]:
        """The settings of a name.

        Raises:
            ConfigError: If there is no such name, its package cannot be used, or its parts cannot
                be stacked.
        """
        if not self._is_stack(name):
            return super().config_type(name)
        parts = [super(MethodRegistry, self).config_type(part) for part in name.split("+")]
        if len(parts) > 2:
            raise ConfigError(f"A stack has two parts, got {len(parts)} in {name!r}.")
        made: type[MethodConfig] = _stack("config").stack_config_type(*parts)
        return made

    def class_of(self, of: MethodConfig | str) -> type[Method[Any, Any]]:
        """The class that a name or settings belong to."""
        name = of if isinstance(of, str) else of.name
        if not self._is_stack(name):
            return super().class_of(of)
        found: type[Method[Any, Any]] = _stack("method").Stack
        return found

    def _is_stack(self, name: str) -> bool:
        if name not in self:
            raise unknown_name(self.kind, name, self)
        return name not in self.singles()

    @functools.cached_property
    def _stacks(self) -> list[str]:
        configs = [config for config, _ in self._builtins.values()]
        return [
            f"{first.name}+{second.name}"
            for first in configs
            if first.changes == "once"
            for second in configs
            if second.changes == "each epoch"
        ]


def _stack(module: str) -> Any:
    return importlib.import_module(f"gaug.methods.stack.{module}")


#: The methods by name: settings and class of each.
METHODS = MethodRegistry(
    "method",
    "gaug.methods",
    (
        (
            "gaug.methods.none.config:NoAugmentationConfig",
            "gaug.methods.none.method:NoAugmentation",
        ),
        ("gaug.methods.dropedge.config:DropEdgeConfig", "gaug.methods.dropedge.method:DropEdge"),
        ("gaug.methods.adaedge.config:AdaEdgeConfig", "gaug.methods.adaedge.method:AdaEdge"),
        ("gaug.methods.bgcn.config:BGCNConfig", "gaug.methods.bgcn.method:BGCN"),
        ("gaug.methods.gaug_m.config:GAugMConfig", "gaug.methods.gaug_m.method:GAugM"),
        ("gaug.methods.gaug_o.config:GAugOConfig", "gaug.methods.gaug_o.method:GAugO"),
    ),
)
