"""gaug reproduce: a table or figure of the paper."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from gaug.cli.figure2 import figure2
from gaug.cli.figure5 import figure5
from gaug.cli.table2 import table2
from gaug.cli.table3 import table3
from gaug.errors import unknown_name


class _Studies(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands:
            raise unknown_name("table or figure", args[0], self.commands)
        return super().resolve_command(ctx, args)


reproduce_app = typer.Typer(
    cls=_Studies,
    help="Make a table or figure of the paper, its numbers beside ours.",
    no_args_is_help=True,
)
reproduce_app.command()(table2)
reproduce_app.command()(table3)
reproduce_app.command()(figure2)
reproduce_app.command()(figure5)
