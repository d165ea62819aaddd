"""Several Parquet files: read a few columns at a time, with the results of one file in memory."""

import numpy as np
import pandas as pd
import pytest

from commands import FEW, make_people, without


@pytest.fixture
def parts(tmp_path):
    """Write the same rows as one file and as three."""
    people = make_people()
    people.to_parquet(tmp_path / "all.parquet", index=False)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(people)), 3)):
        people.iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)
    return tmp_path


def train(run, out, *data, target="answer", more=()):
    answer = run("train", *data, "--target", target, *without(target), "--out", out, *FEW, *more)
    assert answer.code == 0, answer.err
    return (out / "model.hedgerow").read_bytes()


@pytest.mark.parametrize("target", ["answer", "amount"])
def test_a_model_of_several_files_is_that_of_one(run, parts, target):
    files = sorted((parts / "parts").iterdir())
    of_one = train(run, parts / "a", parts / "all.parquet", target=target)
    assert of_one == train(run, parts / "b", *files, target=target)
    assert of_one == train(run, parts / "c", parts / "parts" / "*.parquet", target=target)
    folder = ("--out-of-core", parts / "parts")
    assert of_one == train(run, parts / "d", *folder, target=target)
    assert (parts / "b" / "report.html").exists()


def test_a_table_out_of_core_may_have_300_columns(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(100, 300))).add_prefix("x")
    frame.assign(answer=np.where(frame.x0 > 0, "yes", "no")).to_parquet(tmp_path / "a.parquet")
    options = (tmp_path / "a.parquet", "--target", "answer", *FEW, "--no-report", "--out")
    assert run("train", "--out-of-core", *options, tmp_path / "b").code == 0
    assert run("train", *options, tmp_path / "c").code == 0
    models = [(tmp_path / folder / "model.hedgerow").read_bytes() for folder in ("b", "c")]
    assert models[0] == models[1]


def test_cross_validation_and_a_test_file(run, parts):
    one, files = parts / "all.parquet", parts / "parts" / "*.parquet"
    for more in (("--cv", "3"), ("--test", one)):
        assert train(run, parts / "a", one, more=more) == train(run, parts / "b", files, more=more)


def test_predictions_of_several_files_are_those_of_one(run, parts):
    train(run, parts / "a", parts / "all.parquet")
    model, files = parts / "a" / "model.hedgerow", parts / "parts" / "*.parquet"
    options = ("--proba", "--id", "amount")
    for name in ("p.parquet", "p.csv"):
        assert run("predict", model, parts / "all.parquet", *options, "-o", parts / name).code == 0
        assert run("predict", model, files, *options, "-o", parts / f"of-{name}").code == 0
        read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
        pd.testing.assert_frame_equal(read(parts / name), read(parts / f"of-{name}"))


def test_metrics_of_several_files_are_those_of_one(run, parts):
    train(run, parts / "a", parts / "all.parquet")
    model, options = parts / "a" / "model.hedgerow", ("--target", "answer", "--json")
    one = run("evaluate", model, parts / "all.parquet", *options)
    several = run("evaluate", model, *sorted((parts / "parts").iterdir()), *options)
    assert one.code == several.code == 0
    assert one.out == several.out


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ("none-*.parquet", (), "matches no file"),
        ("parts/*.parquet", ("--na", "?"), "read a few columns at a time"),
        ("parts/*.parquet", ("--model", "neighbors"), "ParquetTable"),
        ("parts/*.parquet", ("--weights", "wait"), "no such column"),
    ],
)
def test_what_files_do_not_support_is_refused(run, parts, data, more, message):
    path, out = parts / data, parts / "out"
    answer = run("train", path, "--target", "answer", "--out", out, *more)
    assert answer.code != 0
    assert message in answer.err
    assert not out.exists()
