from __future__ import annotations

import typing
from typing import Any

from gaug.cli import options
from gaug.data.config import KINDS
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS


def help_of(option: Any) -> str:
    return str(typing.get_args(option)[1].help)


def test_help_names_every_model_method_and_split():
    for option, names in (
        (options.Model, MODELS),
        (options.Method, METHODS),
        (options.Split, KINDS),
    ):
        for name in names:
            assert name in help_of(option)
