"""Queries in PostgreSQL, where it is installed: a private server without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from export.comparison import labels_of
from export.models import model, prediction, rows

_INSTALLED = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
INITDB = shutil.which("initdb") or next(map(str, reversed(_INSTALLED)), None)
# The server refuses to run as root, so root runs it as the user that packages create.
AS_USER = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
pytestmark = pytest.mark.skipif(
    INITDB is None or (bool(AS_USER) and not shutil.which("runuser")),
    reason="PostgreSQL is not installed",
)
KINDS = (
    "regressor",
    "three_classes",
    "averaged",
    "forest",
    "target_statistics",
    "isotonic_calibration",
    "linear_leaves",
    "deep tree",
)


def _run(*command: str, text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def psql():
    """Start a server on a socket in a folder of its own, and return a function that runs SQL."""
    binaries = Path(INITDB).resolve().parent
    folder = Path(_run(*AS_USER, "mktemp", "-d").strip())
    data = str(folder / "data")
    ctl = [*AS_USER, str(binaries / "pg_ctl"), "-D", data]
    _run(
        *AS_USER,
        str(binaries / "initdb"),
        "-D",
        data,
        "-A",
        "trust",
        "-U",
        "postgres",
        "-E",
        "UTF8",
        "--no-sync",
    )
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    _run(*ctl, "-o", options, "-l", str(folder / "log"), "-w", "start")
    client = [str(binaries / "psql"), "-h", str(folder), "-U", "postgres", "-XqAt", "-F\t"]
    yield lambda text: _run(*client, "-v", "ON_ERROR_STOP=1", text=text)
    _run(*ctl, "-m", "immediate", "stop")
    shutil.rmtree(folder)


def _table(frame: pd.DataFrame, labels: dict[str, list]) -> str:
    """Return the statements that create a table; columns of booleans are integers."""
    texts = {
        name for name in frame if any(isinstance(label, str) for label in labels.get(name, ()))
    }
    types = ", ".join(f'"{name}" {"text" if name in texts else "float8"}' for name in frame)
    values = frame.astype(object).where(frame.notna(), None).reset_index().to_numpy().tolist()
    lines = "\n".join("\t".join(map(_text, row)) for row in values)
    create = f'DROP TABLE IF EXISTS "some rows"; CREATE TABLE "some rows" (id float8, {types});'
    return f'{create}\nCOPY "some rows" FROM STDIN;\n{lines}\n\\.\n'


def _text(value: object) -> str:
    if value is None:
        return r"\N"
    return value.replace("\\", "\\\\") if isinstance(value, str) else repr(float(value))


@pytest.mark.parametrize("kind", KINDS)
def test_postgresql_predicts_as_the_model(kind, psql, tmp_path):
    frame = rows(kind)
    model(kind).export(tmp_path / "model.sql", table="some rows", keep=["id"])
    psql(_table(frame, labels_of(kind)))
    lines = psql((tmp_path / "model.sql").read_text(encoding="utf-8")).splitlines()
    found = np.array([line.split("\t") for line in lines], float)
    found = found[np.argsort(found[:, 0]), 1:]
    np.testing.assert_allclose(found, prediction(kind, frame), rtol=1e-12, atol=1e-12)
