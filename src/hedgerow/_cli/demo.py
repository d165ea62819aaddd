"""`hedgerow demo`: a tour of the commands on synthetic churn data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from hedgerow._cli.output import all_or_nothing, require_folder, write_table

_N_ROWS, _N_NEW = 4_000, 5
_TOWNS = ("Bonn", "Essen", "Köln", "Mainz", "Trier", "Ulm")


def demo(out: Path) -> None:
    """Generate customers, and run the other commands on them."""
    context = click.get_current_context()
    require_folder(out)
    customers = _customers()
    data, new, model = out / "customers.csv", out / "new.csv", out / "model.hedgerow"
    with all_or_nothing(out) as folder:
        write_table(customers[:-_N_NEW], folder / data.name)
        write_table(customers[-_N_NEW:].drop(columns="outcome"), folder / new.name)
    click.echo(f"{data} has {_N_ROWS - _N_NEW:,} customers, {new} five more.")
    for command in (
        f"train {_quoted(data)} --target outcome --drop customer --quiet --out {_quoted(out)}",
        f"predict {_quoted(model)} {_quoted(new)} --id customer --proba",
        f"evaluate {_quoted(model)} {_quoted(data)} --target outcome",
        f"explain {_quoted(model)} {_quoted(new)} --rows 2 --top 3",
        f"inspect {_quoted(model)}",
    ):
        _run(context, command)


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _run(context: click.Context, line: str) -> None:
    """Print a command and its output."""
    click.echo(f"\n$ hedgerow {line}")
    group: Any = context.find_root().command
    name, *arguments = shlex.split(line)
    with group.commands[name].make_context(name, arguments, parent=context.parent) as child:
        group.commands[name].invoke(child)


def _customers() -> Any:
    """Generate customers, the same on every machine."""
    random = np.random.RandomState(7)  # whose stream never changes
    table = pd.DataFrame(
        {
            "customer": [f"{i:05}" for i in range(_N_ROWS)],
            "plan": random.choice(["basic", "family", "plus", "student"], _N_ROWS),
            "town": random.choice(_TOWNS, _N_ROWS),
            "months": np.round(random.gamma(2.0, 12.0, _N_ROWS)).astype(int),
            "fee": np.round(random.normal(30, 8, _N_ROWS), 2),
            "calls": random.poisson(1.2, _N_ROWS),
            "days_since_login": np.round(random.exponential(9.0, _N_ROWS), 1),
        }
    )
    score = (
        -1.2
        + 0.6 * (table["calls"] > 2)
        + 1.4 * ((table["plan"] == "basic") & (table["fee"] > 32))
        - 1.3 * ((table["plan"] == "family") & (table["months"] > 18))
        + 1.6 * np.tanh((table["days_since_login"] - 14) / 5)
        + 0.5 * table["town"].isin(["Essen", "Trier"])
    )
    leaves = score + random.logistic(size=_N_ROWS) > 0
    for column, share in (("days_since_login", 0.15), ("plan", 0.05)):
        table.loc[random.random_sample(_N_ROWS) < share, column] = None
    return table.assign(outcome=np.where(leaves, "leaves", "stays"))
