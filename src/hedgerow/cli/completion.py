"""`hedgerow completion`: a script that lets a shell complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from hedgerow.cli.options import debug_option

_HOW = """\b
  bash   eval "$(hedgerow completion bash)"     in ~/.bashrc
  zsh    eval "$(hedgerow completion zsh)"      in ~/.zshrc
  fish   hedgerow completion fish > ~/.config/fish/completions/hedgerow.fish"""


@click.command(
    short_help="Let a shell complete commands.",
    help=f"Print a script that completes commands in a shell.\n\n{_HOW}",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@debug_option
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows all three
    script = kind(context.find_root().command, {}, "hedgerow", "_HEDGEROW_COMPLETE")
    click.echo(script.source())
