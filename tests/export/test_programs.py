"""Exported programs return what the model predicts, bit for bit."""

import importlib.util
import json
import shutil
import subprocess

import numpy as np
import pytest

import hedgerow as hr
from export.models import KINDS, model, prediction, rows

NODE = shutil.which("node")
COMPILERS = [name for name in ("gcc", "clang", "clang-16") if shutil.which(name)]


def records(frame):
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def python_module(kind, folder):
    path = folder / f"{kind}.py"
    model(kind).export(path)
    spec = importlib.util.spec_from_file_location(kind, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", KINDS)
def test_python_predicts_as_the_model(kind, tmp_path):
    module = python_module(kind, tmp_path)
    found = np.array([module.predict(row) for row in records(rows(kind))])
    np.testing.assert_array_equal(found, prediction(kind, rows(kind)), strict=True)
    assert len(module.PREDICTIONS) == found.shape[1]


def test_python_needs_no_import(tmp_path):
    model("three_classes").export(tmp_path / "model.py")
    source = (tmp_path / "model.py").read_text(encoding="utf-8")
    assert "import" not in source.split('"""', 2)[2]


def test_python_reads_lists_and_rejects_what_is_not_a_row(tmp_path):
    module = python_module("two_classes", tmp_path)
    (row,) = records(rows("two_classes").iloc[:1])
    assert module.predict(list(row.values())) == module.predict(row)
    with pytest.raises(ValueError, match="no value for 'size'"):
        module.predict({name: value for name, value in row.items() if name != "size"})
    with pytest.raises(ValueError, match="2 values, not 5"):
        module.predict([1.0, 2.0])
    with pytest.raises(ValueError, match="infinite"):
        module.predict(row | {"size": float("inf")})


@pytest.mark.skipif(NODE is None, reason="there is no Node")
@pytest.mark.parametrize("kind", KINDS)
def test_javascript_predicts_as_the_model(kind, tmp_path):
    model(kind).export(tmp_path / "model.mjs")
    (tmp_path / "rows.json").write_text(json.dumps(records(rows(kind))), encoding="utf-8")
    (tmp_path / "main.mjs").write_text(
        'import { predict, PREDICTIONS } from "./model.mjs";\n'
        'import { readFileSync } from "fs";\n'
        'const rows = JSON.parse(readFileSync("rows.json"));\n'
        "console.log(JSON.stringify({ names: PREDICTIONS, found: rows.map(predict) }));\n"
    )
    run = subprocess.run([NODE, "main.mjs"], cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    result = json.loads(run.stdout)
    np.testing.assert_array_equal(result["found"], prediction(kind, rows(kind)))
    assert len(result["names"]) == len(result["found"][0])


# Reads rows from standard input, a value per line ("" is missing), and prints predictions.
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
      else if (kind[j] == 1) row[j] = model_category(j, line);
      else if (kind[j] == 2) row[j] = model_number_category(j, atof(line));
      else row[j] = strtod(line, NULL);
    }
    model_predict(row, prediction);
    for (int k = 0; k < MODEL_N_PREDICTIONS; ++k) printf("%%a ", prediction[k]);
    printf("\\n");
  }
}
"""
C_KINDS = {"size": 0, "floor area": 0, "colour": 1, "flag": 0, "code": 2}


def c_text(value):
    if value is None:
        return "missing"
    return value if isinstance(value, str) else repr(float(value))


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("kind", KINDS)
def test_c_predicts_as_the_model(kind, tmp_path):
    model(kind).export(tmp_path / "model.h")
    (tmp_path / "main.c").write_text(C_MAIN % ", ".join(map(str, C_KINDS.values())))
    lines = "".join(f"{c_text(v)}\n" for row in records(rows(kind)) for v in row.values())
    expected = prediction(kind, rows(kind))
    for compiler in COMPILERS:
        # Without libm; -march=native lets the compiler fuse multiplications and additions.
        flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-march=native"]
        subprocess.run([compiler, *flags, "main.c", "-o", "main"], cwd=tmp_path, check=True)
        run = subprocess.run(
            ["./main"], cwd=tmp_path, input=lines.encode(), capture_output=True, check=True
        )
        found = [
            [float.fromhex(v) for v in line.split()] for line in run.stdout.decode().splitlines()
        ]
        np.testing.assert_array_equal(found, expected)


def test_c_names_follow_the_file(tmp_path):
    model("tree").export(tmp_path / "3 trees-v2.h")
    assert "model_3_trees_v2_predict" in (tmp_path / "3 trees-v2.h").read_text(encoding="utf-8")


def test_the_same_model_gives_the_same_file(tmp_path):
    for suffix in (".py", ".h", ".mjs", ".txt"):
        for name in ("a", "b"):
            (tmp_path / name).mkdir(exist_ok=True)
            model("forest").export(tmp_path / name / f"model{suffix}")
        first, second = (tmp_path / name / f"model{suffix}" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


def test_what_cannot_be_exported_is_an_error_that_leaves_the_file_alone(tmp_path):
    path = tmp_path / "model.txt"
    path.write_text("before")
    for kind, reason in (
        ("linear_leaves", "linear_leaves"),
        ("temperature", "calibration"),
        ("target_statistics", "max_categories"),
        ("quantiles", "sorted"),
    ):
        with pytest.raises(hr.ExportError, match=reason):
            model(kind).export(path)
    X = np.arange(40.0).reshape(20, 2)
    svm = hr.SVC().fit(X, np.arange(20) > 9)
    with pytest.raises(hr.ExportError, match="SVC cannot be exported"):
        svm.export(path)
    hard = hr.BaggingClassifier(n_estimators=2, voting="hard").fit(X, np.arange(20) > 9)
    with pytest.raises(hr.ExportError, match="voting='hard'"):
        hard.export(path)
    sums = hr.RandomForestClassifier(n_estimators=2, feature_combinations=2)
    with pytest.raises(hr.ExportError, match="feature_combinations=None"):
        sums.fit(X, np.arange(20) > 9).export(path)
    with pytest.raises(hr.ParameterError, match=r"must be one of \.h"):
        model("tree").export(tmp_path / "model.xyz")
    with pytest.raises(hr.ParameterError, match="format='pmml'"):
        model("tree").export(path, format="pmml")
    with pytest.raises(hr.ParameterError, match="table"):
        model("tree").export(tmp_path / "model.sql")
    assert path.read_text() == "before"
