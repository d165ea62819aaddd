"""Exported programs: their interfaces, standards of C, hostile names, and what is refused."""

import importlib.util
import shutil

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from export.comparison import labels_of
from export.models import model, prediction, rows
from export.readers import COMPILERS, c, records


def python_module(kind, folder):
    path = folder / f"{kind}.py"
    model(kind).export(path)
    spec = importlib.util.spec_from_file_location(kind, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("standard", ["c99", "c11", "c17", "gnu17"])
def test_c_predicts_the_same_by_every_standard(standard, compiler, tmp_path):
    # Without libm; -march=native lets the compiler fuse multiplications and additions.
    for kind in ("three_classes", "isotonic_calibration", "linear_leaves"):
        model(kind).export(tmp_path / "model.h")
        found = c(tmp_path / "model.h", rows(kind), labels_of(kind), compiler, standard, "-O2")
        np.testing.assert_array_equal(found, prediction(kind, rows(kind)))


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_the_header_is_cpp_as_well(standard, tmp_path):
    for kind in ("three_classes", "linear_leaves"):
        model(kind).export(tmp_path / "model.h")
        found = c(tmp_path / "model.h", rows(kind), labels_of(kind), "g++", standard)
        np.testing.assert_array_equal(found, prediction(kind, rows(kind)))


@pytest.mark.skipif(not COMPILERS, reason="there is no C compiler")
@pytest.mark.parametrize("standard", ["c99", "c11", "c17", "gnu17"])
def test_trigraphs_in_categories_run_no_code(standard, tmp_path):
    code = "static void ran(void) { extern int putchar(int); putchar(80); }"
    hostile = [
        "a??/",
        f"}}; __attribute__((constructor)) {code} static const char *const other[] = {{",
        "};??/??/",
        "*/ what??!",
    ]
    frame = pd.DataFrame({"colour ??/ */": hostile * 20, "x": np.arange(80.0)})
    tree = hr.DecisionTreeRegressor().fit(frame, frame["colour ??/ */"].map(hostile.index))
    tree.export(tmp_path / "model.h")
    assert "??" not in (tmp_path / "model.h").read_text(encoding="utf-8")
    labels = {"colour ??/ */": sorted(hostile)}
    found = c(tmp_path / "model.h", frame, labels, "gcc", standard)
    np.testing.assert_array_equal(found[:, 0], tree.predict(frame))


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
    with pytest.raises(hr.ExportError, match="SVC has no trees"):
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
