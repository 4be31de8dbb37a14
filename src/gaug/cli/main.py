"""The command-line program, and the one place where errors are printed."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from gaug.cli import options, ranks
from gaug.cli.augment import augment
from gaug.cli.datasets import datasets_app
from gaug.cli.demo import demo
from gaug.cli.explain import explain
from gaug.cli.fit import fit
from gaug.cli.inspect import inspect
from gaug.cli.predict import predict
from gaug.cli.remedies import with_remedy
from gaug.cli.report import report
from gaug.cli.reproduce import reproduce
from gaug.cli.search import search
from gaug.cli.settings import settings
from gaug.cli.train import train
from gaug.cli.waiting import wait_briefly
from gaug.errors import ConfigError, GaugError
from gaug.memory import is_lack_of_memory

app = typer.Typer(
    name="gaug",
    help="Data augmentation for graph neural networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.add_typer(datasets_app, name="datasets")
app.command()(inspect)
app.command()(augment)
app.command()(explain)
app.command()(train)
app.command()(search)
app.command()(fit)
app.command()(predict)
app.command()(settings)
app.command()(reproduce)
app.command()(report)


def _print_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"gaug {version('gaug')}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    ranks.check_command(context.invoked_subcommand)


def main() -> None:
    """Run the program; print errors as one line, with a traceback only if --debug is given."""
    wait_briefly(os.environ)
    try:
        with ranks.quiet_unless_first():
            app()
    except GaugError as error:
        if options.state.debug:
            raise
        # What is wrong with the command line is told once, by the first of several processes.
        if not error.told and (ranks.rank() == 0 or not isinstance(error, ConfigError)):
            print(f"gaug: {with_remedy(error)}", file=sys.stderr)
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except (MemoryError, RuntimeError) as error:
        if options.state.debug or not is_lack_of_memory(error):
            raise
        print("gaug: There is not enough memory for this. Try smaller settings.", file=sys.stderr)
        sys.exit(1)
    except SystemExit as leave:  # Typer turns Ctrl-C into this code, without a message
        if leave.code == 130 and not options.state.interruption_told:
            print("gaug: Interrupted.", file=sys.stderr)
        raise
