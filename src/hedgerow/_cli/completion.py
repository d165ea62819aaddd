"""`hedgerow completion`: a script that lets a shell complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


def completion(shell: str) -> None:
    """Print the script of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows all three
    program = click.get_current_context().find_root().command
    click.echo(kind(program, {}, "hedgerow", "_HEDGEROW_COMPLETE").source())
