"""The programs that read exports: each returns what it predicts from a file for rows of a table.

If `raw`, it returns the scores from which predictions are computed.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import lightgbm
import numpy as np
import onnxruntime
import pandas as pd
import xgboost

NODE = shutil.which("node")
COMPILERS = [name for name in ("gcc", "clang", "clang-16") if shutil.which(name)]
C_FLAGS = ("-pedantic", "-Wall", "-Wextra", "-Werror", "-march=native")


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def is_text(name: str, labels: Any) -> bool:
    """Return whether a column is categorical, with strings; it may have no category at all."""
    return name in labels and all(isinstance(label, str) for label in labels[name])


def python(file: Path, frame: pd.DataFrame, labels: Any, *, raw: bool = False) -> np.ndarray:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = module.scores if raw else module.predict
    return np.array([function(row) for row in records(frame)])


def javascript(file: Path, frame: pd.DataFrame, labels: Any, *, raw: bool = False) -> np.ndarray:
    (file.parent / "rows.json").write_text(json.dumps(records(frame)), encoding="utf-8")
    (file.parent / "main.mjs").write_text(
        f'import {{ {"scores as " if raw else ""}predict }} from "./{file.name}";\n'
        'import { readFileSync } from "fs";\n'
        "console.log(JSON.stringify(JSON.parse(readFileSync('rows.json')).map(predict)));\n"
    )
    run = subprocess.run([NODE, "main.mjs"], cwd=file.parent, capture_output=True, check=True)
    return np.array(json.loads(run.stdout), float)


# Reads rows from standard input, a value per line, and prints predictions.
C_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "model.h"
int main(void) {
  static const int kind[] = {%s};
  char line[256];
  double row[MODEL_N_COLUMNS], prediction[MODEL_N_PREDICTIONS];
  for (;;) {
    for (int j = 0; j < MODEL_N_COLUMNS; ++j) {
      if (!fgets(line, sizeof line, stdin)) return 0;
      line[strcspn(line, "\\n")] = 0;
      if (strcmp(line, "missing") == 0) row[j] = NAN;
      else if (kind[j] == 1) row[j] = %s;
      else if (kind[j] == 2) row[j] = %s;
      else row[j] = strtod(line, NULL);
    }
    model_predict(row, prediction);
    for (int k = 0; k < MODEL_N_PREDICTIONS; ++k) printf("%%.17g ", prediction[k]);
    printf("\\n");
  }
}
"""


def c(
    file: Path,
    frame: pd.DataFrame,
    labels: Any,
    compiler: str = "gcc",
    standard: str = "c99",
    level: str = "-O0",
    *,
    raw: bool = False,
) -> np.ndarray:
    header = file.read_text(encoding="utf-8")
    kinds = [0 if name not in labels else 1 if is_text(name, labels) else 2 for name in frame]
    functions = {
        "model_category": "model_category(j, line)",
        "model_number_category": "model_number_category(j, atof(line))",
    }
    calls = tuple(
        call if f"double {name}(" in header else "0.0" for name, call in functions.items()
    )
    source = "main.c" if standard.startswith(("c9", "c1", "gnu1")) else "main.cpp"
    text = C_MAIN % (", ".join(map(str, kinds)), *calls)
    if raw:
        text = text.replace("model_predict(", "model_scores(").replace("PREDICTIONS", "OUTPUTS")
    (file.parent / source).write_text(text)
    flags = [f"-std={standard}", level, *C_FLAGS]
    subprocess.run([compiler, *flags, source, "-o", "main"], cwd=file.parent, check=True)
    lines = "".join(f"{_c_text(v)}\n" for row in records(frame) for v in row.values())
    run = subprocess.run(
        ["./main"], cwd=file.parent, input=lines.encode(), capture_output=True, check=True
    )
    return np.array([list(map(float, line.split())) for line in run.stdout.splitlines()])


def _c_text(value: Any) -> str:
    if value is None:
        return "missing"
    return value if isinstance(value, str) else repr(float(value))


def onnx(file: Path, frame: pd.DataFrame, labels: Any) -> np.ndarray:
    """Run a graph; "" is a category of the table, so "NaN" is a missing string."""
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    inputs = {
        name: np.array([["NaN" if v is None or v != v else v] for v in frame[name]], object)
        if is_text(name, labels)
        else frame[[name]].to_numpy(np.float64)
        for name in frame
    }
    return session.run(None, inputs)[-1]


def sqlite(file: Path, frame: pd.DataFrame, labels: Any) -> np.ndarray:
    numbered = frame.reset_index(names="id")
    values = numbered.astype(object).where(numbered.notna(), None).to_numpy().tolist()
    database = sqlite3.connect(":memory:")
    names = ", ".join(f'"{name}"' for name in numbered)
    database.execute(f'CREATE TABLE "some rows" ({names})')
    marks = ", ".join("?" * len(numbered.columns))
    database.executemany(f'INSERT INTO "some rows" VALUES ({marks})', values)
    found = np.array(database.execute(file.read_text(encoding="utf-8")).fetchall(), float)
    database.close()
    return found[np.argsort(found[:, 0]), 1:]


def duck(file: Path, frame: pd.DataFrame, labels: Any) -> np.ndarray:
    numbered = frame.reset_index(names="id")
    # In a registered frame NaN stays NaN.
    floats = [name for name in frame if frame[name].dtype.kind == "f"]
    nulls = ", ".join(f'nullif("{name}", \'nan\'::DOUBLE) AS "{name}"' for name in floats)
    with duckdb.connect() as database:
        database.register("frame", numbered)
        database.execute(f'CREATE TABLE "some rows" AS SELECT * REPLACE ({nulls}) FROM frame')
        rows = database.execute(file.read_text(encoding="utf-8")).fetchall()
    found = np.array(rows, float)
    return found[np.argsort(found[:, 0]), 1:]


def with_categories(frame: pd.DataFrame, labels: Any) -> pd.DataFrame:
    """Return the table as boosting libraries expect it: categories have a categorical dtype."""
    return frame.assign(
        **{
            name: pd.Categorical(frame[name], categories=known or None)
            for name, known in labels.items()
        }
    )


def light_gbm(file: Path, frame: pd.DataFrame, labels: Any, *, raw: bool = False) -> np.ndarray:
    booster = lightgbm.Booster(model_file=file)
    rows = with_categories(frame, labels)
    return booster.predict(rows, raw_score=raw).reshape(len(frame), -1)


def xg_boost(file: Path, frame: pd.DataFrame, labels: Any, *, raw: bool = False) -> np.ndarray:
    booster = xgboost.Booster(model_file=file)
    rows = xgboost.DMatrix(with_categories(frame, labels), enable_categorical=True)
    return booster.predict(rows, output_margin=raw).reshape(len(frame), -1)


@dataclass(frozen=True)
class Reader:
    """A program that reads a format, and how exactly it agrees with the model.

    `has_complements`: it predicts both of two probabilities. `is_single`: it computes in float32,
    to rounding errors of which it agrees, and knows no other categories than those of the fit.
    `zero`: it takes numbers of at most that absolute value as 0. `has_scores`: it can return them.
    """

    name: str
    suffix: str
    predict: Callable[..., np.ndarray]
    tolerance: float = 0.0
    has_complements: bool = True
    is_single: bool = False
    zero: float = 0.0
    has_scores: bool = False


READERS = [
    Reader("python", ".py", python, has_scores=True),
    *([Reader("javascript", ".mjs", javascript, has_scores=True)] if NODE else []),
    *([Reader("c", ".h", c, has_scores=True)] if "gcc" in COMPILERS else []),
    Reader("onnx", ".onnx", onnx, 1e-12),
    Reader("sqlite", ".sql", sqlite, 1e-12),
    Reader("duckdb", ".sql", duck, 1e-12),
    Reader(
        *("lightgbm", ".txt", light_gbm, 1e-13),
        has_complements=False,
        zero=1.1e-35,
        has_scores=True,
    ),
    Reader(
        *("xgboost", ".xgb.json", xg_boost),
        has_complements=False,
        is_single=True,
        has_scores=True,
    ),
]
