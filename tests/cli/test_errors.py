"""Bad input to every command: one clear line, exit code 2, nothing written."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import hedgerow as hr
from commands import ENVIRONMENT, everything_in, make_people, run_process
from hedgerow._cli import output
from hedgerow._cli.output import all_or_nothing
from hedgerow._model_file import container
from hedgerow._model_file.text import to_json


@pytest.fixture
def place(good_and_bad, tmp_path, monkeypatch):
    """Copy good files and bad ones into a folder, and go there."""
    shutil.copytree(good_and_bad, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def good_and_bad(folder, tmp_path_factory):
    """Make files that are as they should be, and files that are not."""
    tmp_path = tmp_path_factory.mktemp("good_and_bad")
    for name in ("people.csv", "new.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "m.hedgerow").write_bytes((folder / "classes" / "model.hedgerow").read_bytes())
    (tmp_path / "n.hedgerow").write_bytes((folder / "numbers" / "model.hedgerow").read_bytes())
    table = make_people(50)
    table.drop(columns="age").to_csv(tmp_path / "no_age.csv", index=False)
    table.assign(age="old").to_csv(tmp_path / "age_text.csv", index=False)
    table.assign(answer="perhaps").to_csv(tmp_path / "perhaps.csv", index=False)
    table.assign(answer="yes").to_csv(tmp_path / "one_class.csv", index=False)
    table.assign(answer=None).to_csv(tmp_path / "no_target.csv", index=False)
    table.assign(income=float("inf")).to_csv(tmp_path / "infinite.csv", index=False)
    table.assign(answer="yes").head(1).to_csv(tmp_path / "one_row.csv", index=False)
    table.assign(answer=["rare", *["yes", "no"] * 24, "no"]).to_csv(
        tmp_path / "rare.csv", index=False
    )
    marked = table["amount"].astype(str).where(table.index != 7, "?")
    table.assign(amount=marked).to_csv(tmp_path / "marks.csv", index=False)
    some = table["age"].isna() | table.index.isin([3, 4])
    ages = table["age"].astype(str).where(~some, "?").where(table["age"].notna())
    table.assign(age=ages).to_csv(tmp_path / "age_marks.csv", index=False)
    (tmp_path / "bare.csv").write_text("5.1,3.5,1.4,0\n4.9,3.0,1.4,0\n6.2,3.4,5.4,1\n")
    (tmp_path / "twice_numbers.csv").write_text("1,1\n2,3\n")
    (tmp_path / "mixed.csv").write_text("39,State-gov,no\n50,Private,yes\n")
    (tmp_path / "many.csv").write_text("x,name\n" + "".join(f"{i},n{i}\n" for i in range(120)))
    (tmp_path / "gap.csv").write_text("x,y\n1,2.5\n2,\n3,1.5\n4,1\n5,2\n6,2\n7,8.5\n")
    _write_bad_tables(tmp_path)
    _write_bad_models(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.hedgerow").mkdir()
    (tmp_path / "folder.json").mkdir()
    return tmp_path


def _write_bad_tables(tmp_path):
    good = (tmp_path / "people.csv").read_bytes()
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "blank.csv").write_text("\n \n\n")
    (tmp_path / "junk.csv").write_bytes(JUNK)
    (tmp_path / "nul.csv").write_bytes(bytes(100))
    (tmp_path / "latin.csv").write_bytes(good.replace("ö".encode(), "ö".encode("latin-1")))
    (tmp_path / "utf16.csv").write_bytes(good.decode().encode("utf-16"))
    (tmp_path / "quote.csv").write_text('a,b,c\n1,"2,3\n4,5,6\n')
    (tmp_path / "wide.csv").write_text("a" * 200_000 + ",b\n1,2\n")
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n3,4\n")
    (tmp_path / "not.csv.gz").write_bytes(good)
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(good)[:-400])
    packed = bytearray(gzip.compress(good))
    packed[-5] ^= 1  # of the checksum
    (tmp_path / "checksum.csv.gz").write_bytes(packed)
    packed[20:40] = bytes(20)
    (tmp_path / "damaged.csv.gz").write_bytes(packed)
    (tmp_path / "junk.parquet").write_bytes(JUNK)
    columns = [pa.array([1, 2] * 9), pa.array([3, 4] * 9)]
    parquet.write_table(pa.table(columns, names=["a", "a"]), tmp_path / "twice.parquet")
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "no_rows.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "twice.parquet").read_bytes()[:-100])
    (tmp_path / "good.svm").write_text("1 1:2 3:4\n0 2:1\n" * 10)
    (tmp_path / "large.svm").write_text("1 99999999999:2\n0 1:1\n")
    (tmp_path / "gap.svm").write_text("1 1:2\nnan 1:1\n")
    (tmp_path / "cut.svm.gz").write_bytes(gzip.compress(b"1 1:2\n" * 99)[:-9])
    (tmp_path / "header.csv").write_text("a,b\n")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "table.xyz").write_text("a,b\n1,2\n")
    (tmp_path / "broken.parquet").write_text("a,b\n1,2\n")
    (tmp_path / "broken.arrow").write_text("a,b\n1,2\n")
    (tmp_path / "broken.svm").write_text("a,b\n1,2\n")


def _write_bad_models(tmp_path):
    good = (tmp_path / "m.hedgerow").read_bytes()
    (tmp_path / "no_model.hedgerow").write_text("not a model at all, whatever it is called" * 9)
    (tmp_path / "cut.hedgerow").write_bytes(good[:-9])
    (tmp_path / "empty.hedgerow").write_bytes(b"")
    (tmp_path / "junk.hedgerow").write_bytes(JUNK)
    document, arrays = container.unpack(good)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(container, "FORMAT_VERSION", container.FORMAT_VERSION + 1)
        (tmp_path / "newer.hedgerow").write_bytes(container.pack(document, arrays))
    (tmp_path / "broken.json").write_text('{"format": "other"}')
    (tmp_path / "junk.json").write_bytes(JUNK)
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "empty.json").write_text("")
    newer = json.loads(to_json(hr.load(tmp_path / "m.hedgerow"))) | {"format_version": 2}
    (tmp_path / "newer.json").write_text(json.dumps(newer))


JUNK = np.random.default_rng(0).bytes(5_000)
TRAIN = "train people.csv --target answer "
BAD = [
    # the command, and what the error line must contain
    ("train missing.csv --target y", "No such file or directory: missing.csv"),
    ("train . --target y", "Is a directory"),
    ("train empty.csv --target y", "empty.csv is empty"),
    ("train header.csv --target a", "no rows"),
    ("train ragged.csv --target a", "Expected 2 columns, got 1"),
    ("train table.xyz --target a", "--format"),
    ("train broken.parquet --target a", "not a Parquet file"),
    ("train broken.arrow --target a", "not an Arrow file"),
    ("train broken.svm", "not an SVMlight file"),
    ("train people.csv", "--target"),
    ("train bare.csv --target y", "a line of numbers ('5.1', '3.5', '1.4' and 1 more)"),
    ("train bare.csv --target y", "--no-header reads it as a row"),
    ("train bare.csv --no-header --target 3", "Did you mean 'x3'?"),
    ("train twice_numbers.csv --target y", "--no-header"),
    ("train mixed.csv --target y", "If its first line is not a header, use --no-header"),
    ("train good.svm --no-header", "--no-header is for CSV files"),
    ("train good.svm --na ?", "--na"),
    (
        "train marks.csv --target amount",
        "50 distinct values, and 1 of 50 values is not a number ('?'). If these mean missing, ",
    ),
    ("train marks.csv --target amount --task regression", "1 of 50 values is not a number ('?')"),
    ("train marks.csv --target amount --na ?", "--drop-missing-target skips these rows"),
    ("train many.csv --target name", "is text with 120 distinct values in 120 rows"),
    (TRAIN + "--positive-class perhaps", "--positive-class perhaps: there is no such class"),
    ("train people.csv --target amount --positive-class yes", "does not predict classes"),
    ("train folder.csv --target y", "Is a directory: folder.csv"),
    ("train /dev/null --target y", "not a regular file"),
    ("train blank.csv --target y", "blank.csv is empty"),
    ("train junk.csv --target y", "junk.csv is not a CSV file in UTF-8: byte 0x"),
    ("train nul.csv --target y", "nul.csv is not a CSV file"),
    ("train latin.csv --target y", "latin.csv is not a CSV file in UTF-8: byte 0xf6 at position"),
    ("train utf16.csv --target y", "utf16.csv is not a CSV file in UTF-8: byte 0xff"),
    ("train quote.csv --target b", "quote.csv is not a CSV file"),
    ("train wide.csv --target b", "wide.csv is not a CSV file"),
    ("train twice.csv --target a", "more than one column named 'a'"),
    ("train twice.parquet --target a", "more than one column named 'a'"),
    ("train no_rows.parquet --target a", "no rows"),
    ("train junk.parquet --target a", "junk.parquet is not a Parquet file"),
    ("train cut.parquet --target a", "cut.parquet is not a Parquet file"),
    ("train people.csv --format parquet --target a", "people.csv is not a Parquet file"),
    ("train people.csv --format svmlight", "people.csv is not an SVMlight file"),
    ("train not.csv.gz --target a", "not.csv.gz is not a CSV file"),
    ("train cut.csv.gz --target a", "cut.csv.gz is not a CSV file"),
    ("train checksum.csv.gz --target a", "checksum.csv.gz is not a CSV file"),
    ("train damaged.csv.gz --target a", "damaged.csv.gz is not a CSV file"),
    ("train cut.svm.gz", "cut.svm.gz is not an SVMlight file"),
    ("train large.svm", "large.svm is not an SVMlight file"),
    ("train gap.svm", "gap.svm has no target in row 1"),
    ("train good.svm --target y", "no column 'y': in SVMlight"),
    ("train one_row.csv --target answer", "a class has only one row ('yes')"),
    ("train one_row.csv --target amount", "1 row cannot be split: the training set would have 0"),
    ("train one_row.csv --target amount --cv 2", "there are fewer rows (1)"),
    ("train one_class.csv --target answer", "only one class"),
    ("train one_class.csv --target answer --cv 3", "only one class"),
    ("train rare.csv --target answer", "a class has only one row ('rare')"),
    ("train gap.csv --target x --weights y", "column 'y' (--weights) has missing values"),
    (TRAIN + "--groups town --cv 3", "column 'town' (--groups) has missing values"),
    (TRAIN + "--groups answer", "--target and --groups both name column 'answer'"),
    (TRAIN + "--cv 300", "every class has fewer rows"),
    (TRAIN + "--cv 1", "'--cv': 1"),
    (TRAIN + "--test-size nan", "nan is not a number"),
    (TRAIN + "--test-size 0.9999", "300 rows cannot be split: the training set would have 0"),
    (TRAIN + "--groups group --test-size 0.99", "30 groups cannot be split: the training set"),
    (TRAIN + "--groups group --cv 31", "there are fewer groups (30)"),
    (TRAIN + "--test age_text.csv", "age_text.csv, column 'age'"),
    (TRAIN + "--test perhaps.csv", "the target contains 'perhaps'"),
    (TRAIN + "--test gap.csv", "gap.csv has no column 'answer'"),
    (TRAIN + "--test no_target.csv", "no_target.csv, column 'answer' (--target) is empty"),
    (TRAIN + "--test good.svm", "no column 'answer': in SVMlight"),
    (TRAIN + "--param =5", "write name=value"),
    (TRAIN + "--param learning_rate=nan", "learning_rate=nan is not allowed"),
    (TRAIN + "--param max_depth=1e400", "max_depth=inf is not allowed"),
    (TRAIN + "--budget fast", "budget='fast' is not allowed"),
    (TRAIN + "--seed -1", "'--seed': -1"),
    (TRAIN + "--out m.hedgerow", "not a folder"),
    (TRAIN + "--task survival", "needs --event"),
    (TRAIN + "--model svm --drop town", "contains NaN"),
    ("train people.csv --target anwser", "Did you mean 'answer'?"),
    ("train people.csv --target zzz", "There are 'person', 'town'"),
    ("train no_target.csv --target answer", "column 'answer' (--target) is empty"),
    (
        "train gap.csv --target y",
        "has missing values: 1 of 7 rows, the first is row 1. --drop-missing-target skips these",
    ),
    ("train one_class.csv --target answer --test-size 0", "only one class"),
    ("train infinite.csv --target amount", "infinity"),
    (TRAIN + "--weights wieght", "Did you mean 'weight'?"),
    (TRAIN + "--drop twon", "Did you mean 'town'?"),
    (TRAIN + "--drop person,town,age,income,member,weight,group,amount", "has no features"),
    (TRAIN + "--model forest", "Use 'random_forest'"),
    (TRAIN + "--model xgboost", "Use 'gradient_boosting', which corresponds to it"),
    (TRAIN + "--model LGBMClassifier", "Use 'gradient_boosting'"),
    (TRAIN + "--model KNeighborsClassifier", "Use 'neighbors'"),
    (TRAIN + "--model logistic-regression", "does not have it; 'linear_svm' is the most similar"),
    (TRAIN + "--model gradient_bosting", "Did you mean 'gradient_boosting'?"),
    (TRAIN + "--param n_estimator=5", "did you mean 'n_estimators'?"),
    (TRAIN + "--param n_estimators=many", "n_estimators='many' is not allowed"),
    (TRAIN + "--param n_estimators=0", "n_estimators=0 is not allowed"),
    (TRAIN + "--param n_estimators", "write name=value"),
    (TRAIN + "--param loss=squared_error", "loss='squared_error' is not allowed"),
    (TRAIN + "--model random_forest --budget quick", "--budget is for gradient_boosting"),
    (TRAIN + "--model neighbors --weights weight", "does not support weights"),
    (TRAIN + "--cv 3 --test-size 0.5", "choose one"),
    (TRAIN + "--test missing.csv", "No such file"),
    (TRAIN + "--test no_age.csv", "no column 'age'"),
    (TRAIN + "--test-size 2", "--test-size"),
    (TRAIN + "--out file", "not a folder"),
    (TRAIN + "--out file/deeper", "not a folder"),
    (TRAIN + "--task ranking", "needs --qid"),
    (TRAIN + "--task regression", "y"),
    (TRAIN + "--qid group --event member", "one of them"),
    ("train people.csv --target amount --event group", "true or false"),
    (TRAIN + "--task counts --model svm", "--model svm does not support counts"),
    (TRAIN + "--threads 0", "'--threads': 0"),
    (TRAIN + "--unheard-of", "No such option"),
    ("predict missing.hedgerow new.csv", "No such file or directory: missing.hedgerow"),
    ("predict no_model.hedgerow new.csv", "not a Hedgerow model file"),
    ("predict cut.hedgerow new.csv", "damaged"),
    ("predict empty.hedgerow new.csv", "the file is empty"),
    ("predict junk.hedgerow new.csv", "not a Hedgerow model file"),
    ("predict newer.hedgerow new.csv", "written by a newer Hedgerow"),
    ("predict folder.hedgerow new.csv", "Is a directory: folder.hedgerow"),
    ("predict m.hedgerow folder.csv", "Is a directory: folder.csv"),
    ("predict m.hedgerow empty.csv -o p.csv", "empty.csv is empty"),
    ("predict m.hedgerow junk.csv -o p.csv", "junk.csv is not a CSV file"),
    ("predict m.hedgerow latin.csv -o p.csv", "latin.csv is not a CSV file in UTF-8"),
    ("predict m.hedgerow cut.csv.gz -o p.csv", "cut.csv.gz is not a CSV file"),
    ("predict m.hedgerow ragged.csv -o p.csv", "Row #3: Expected 2 columns, got 1"),
    ("predict m.hedgerow infinite.csv -o p.csv", "infinity"),
    ("predict m.hedgerow good.svm -o p.csv", "no column 'town': in SVMlight"),
    ("predict m.hedgerow new.csv -o folder.csv", "it is a folder"),
    ("predict m.hedgerow new.csv --coverage 0.5", "needs --interval"),
    ("predict m.hedgerow new.csv --interval --coverage nan", "nan is not a number"),
    ("predict m.hedgerow", "DATA"),
    ("predict m.hedgerow missing.csv", "No such file or directory: missing.csv"),
    ("predict m.hedgerow no_age.csv -o p.csv", "no column 'age'"),
    ("predict m.hedgerow age_text.csv -o p.csv", "column 'age' must be numeric, but 50 of 50"),
    ("predict m.hedgerow age_marks.csv -o p.csv", "but 2 of 44 values are not numbers ('?'). --na"),
    ("predict m.hedgerow bare.csv -o p.csv", "--no-header"),
    ("predict m.hedgerow mixed.csv -o p.csv", "If its first line is not a header, use --no-header"),
    ("predict m.hedgerow new.csv --positive-class yess", "Did you mean 'yes'?"),
    ("predict n.hedgerow new.csv --positive-class yes", "does not predict classes"),
    ("predict m.hedgerow new.csv -o p.xlsx", "must end in .csv"),
    ("predict m.hedgerow new.csv -o file/p.csv", "there is no folder file"),
    ("predict m.hedgerow new.csv --interval", "does not predict intervals"),
    ("predict n.hedgerow new.csv --interval", "predict_interval needs a calibrated model"),
    ("predict n.hedgerow new.csv --proba -o p.csv", "does not predict probabilities"),
    ("predict m.hedgerow new.csv --id persn", "Did you mean 'person'?"),
    ("predict m.hedgerow new.csv --threads 0", "'--threads': 0"),
    ("evaluate m.hedgerow new.csv", "--target"),
    ("evaluate m.hedgerow new.csv --target anwser", "Did you mean 'answer'?"),
    ("evaluate m.hedgerow perhaps.csv --target answer", "the classes of the model are 'no', 'yes'"),
    ("evaluate m.hedgerow no_age.csv --target answer", "no column 'age'"),
    ("evaluate m.hedgerow new.csv --target answer --qid group", "--qid is for ranking"),
    ("evaluate n.hedgerow new.csv --target answer", "y"),
    ("evaluate cut.hedgerow new.csv --target answer", "damaged"),
    ("evaluate m.hedgerow junk.csv --target answer", "junk.csv is not a CSV file"),
    ("evaluate m.hedgerow no_target.csv --target answer", "(--target) is empty"),
    ("evaluate m.hedgerow age_text.csv --target answer", "column 'age' must be numeric"),
    ("evaluate n.hedgerow marks.csv --target amount", "1 of 50 values is not a number ('?'). --na"),
    (
        "evaluate m.hedgerow new.csv --target answer --weights income",
        "(--weights) has missing values",
    ),
    ("evaluate m.hedgerow new.csv --target answer --event member", "--event is for survival"),
    ("explain newer.hedgerow new.csv", "written by a newer Hedgerow"),
    ("explain m.hedgerow junk.csv", "junk.csv is not a CSV file"),
    ("explain m.hedgerow age_text.csv -o values.csv", "column 'age' must be numeric"),
    ("explain m.hedgerow new.csv --rows 0-99999999999999", "the rows are 0 to 59"),
    ("explain m.hedgerow new.csv --rows 0,,1", "such as 0-4,7"),
    ("explain m.hedgerow new.csv --top 0", "'--top': 0"),
    ("explain m.hedgerow no_age.csv", "no column 'age'"),
    ("explain m.hedgerow new.csv --rows 60", "the rows are 0 to 59"),
    ("explain m.hedgerow new.csv --rows a-b", "such as 0-4,7"),
    ("explain m.hedgerow new.csv --rows 4-2", "selects no rows"),
    ("explain m.hedgerow new.csv -o values.txt", "must end in .csv"),
    ("report m.hedgerow new.csv -o page.html", "--target"),
    ("report m.hedgerow no_age.csv --target answer -o page.html", "no column 'age'"),
    ("report m.hedgerow new.csv --target answer -o file/page.html", "there is no folder file"),
    ("report junk.hedgerow new.csv --target answer -o page.html", "not a Hedgerow model file"),
    ("report m.hedgerow perhaps.csv --target answer -o page.html", "perhaps"),
    ("report m.hedgerow no_target.csv --target answer -o page.html", "(--target) is empty"),
    ("report m.hedgerow new.csv --target answer --event member", "--event is for survival"),
    ("report m.hedgerow new.csv --target answer -o folder.csv", "it is a folder"),
    ("inspect folder.hedgerow", "Is a directory: folder.hedgerow"),
    ("inspect empty.hedgerow", "the file is empty"),
    ("inspect cut.hedgerow", "damaged"),
    ("inspect newer.hedgerow", "written by a newer Hedgerow"),
    ("inspect m.hedgerow --tree x", "'--tree': 'x'"),
    ("inspect missing.hedgerow", "No such file or directory: missing.hedgerow"),
    ("inspect people.csv", "not a Hedgerow model file"),
    ("inspect m.hedgerow --tree 99", "the trees are 0 to 11"),
    ("convert m.hedgerow model.pmml", "must end in .json, .hedgerow, .h, .js"),
    ("convert m.hedgerow model.sql", "pass the name of the table"),
    ("convert people.csv model.json", "not a Hedgerow model file"),
    ("convert broken.json model.hedgerow", "not a model of Hedgerow, XGBoost or CatBoost"),
    ("convert list.json model.hedgerow", "not a Hedgerow model file"),
    ("convert junk.json model.hedgerow", "not a Hedgerow model file"),
    ("convert empty.json model.hedgerow", "the file is empty"),
    ("convert newer.json model.hedgerow", "the format version is 2, and this Hedgerow reads 1"),
    ("convert missing.json model.hedgerow", "No such file or directory: missing.json"),
    ("convert folder.json model.hedgerow", "Is a directory: folder.json"),
    ("convert cut.hedgerow model.json", "damaged"),
    ("convert m.hedgerow folder.json", "it is a folder"),
    ("convert m.hedgerow file/model.json", "there is no folder file"),
    ("demo --out file", "not a folder"),
    ("completion powershell", "powershell"),
    ("unheard-of", "No such command"),
]


@pytest.mark.parametrize(("command", "named"), BAD, ids=[command for command, _ in BAD])
def test_bad_input_is_one_clear_line_and_no_file(run, place, command, named):
    before = everything_in(place)
    answer = run(*command.split())
    assert (answer.code, answer.out) == (2, ""), answer.err
    (line,) = answer.err.splitlines()
    assert line.startswith("hedgerow: error: ")
    assert named in line
    assert everything_in(place) == before


WRITING = [
    ("train people.csv --target answer --param n_estimators=3 -q --out out", "model.hedgerow"),
    ("predict m.hedgerow new.csv --proba -o p.csv", "p.csv"),
    ("explain m.hedgerow new.csv -o p.csv", "p.csv"),
    ("report m.hedgerow new.csv --target answer -o p.html", "p.html"),
    ("convert m.hedgerow p.json", "p.json"),
    ("convert m.hedgerow p.hedgerow", "p.hedgerow"),
    ("demo --out out", "customers.csv"),
]


@pytest.fixture
def short_of_space(monkeypatch):
    """Let files become no longer than a kilobyte, as if the disk were full."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would leave it cut short
    resource = pytest.importorskip("resource", reason="no limits of a process")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(("command", "named"), WRITING, ids=[command for command, _ in WRITING])
def test_a_full_disk_is_one_line_and_no_file(run, place, short_of_space, command, named):
    before = everything_in(place)
    answer = run(*command.split())
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.err
    assert "File too large" in answer.err
    assert named in answer.err
    assert everything_in(place) == before


@pytest.mark.parametrize(
    "command",
    [
        "predict m.hedgerow age_text.csv -o old.csv",
        "explain m.hedgerow age_text.csv -o old.csv",
        "report m.hedgerow perhaps.csv --target answer -o old.csv",
        "convert cut.hedgerow old.json",
        "convert broken.json old.hedgerow",
    ],
)
def test_files_that_were_there_stay_if_a_command_fails(run, place, command):
    path = place / command.split()[-1]
    path.write_text("as it was")
    assert run(*command.split()).code == 2
    assert path.read_text() == "as it was"


@pytest.mark.parametrize("command", ["predict m.hedgerow new.csv", "completion bash", "--help"])
def test_standard_output_that_is_full_is_one_line(place, command):
    with Path("/dev/full").open("w") as full:
        ended = run_process(*command.split(), stdout=full)
    assert ended.returncode == 2
    assert ended.stderr == "hedgerow: error: No space left on device\n"


@pytest.mark.parametrize("command", ["completion bash", "--help"])
def test_standard_output_that_is_closed_is_one_line(place, command):
    ended = run_process(*command.split(), stdout=None, preexec_fn=lambda: os.close(1))
    assert ended.returncode == 2
    assert ended.stderr == "hedgerow: error: standard output is closed\n"


@pytest.mark.parametrize("command", ["completion bash", "--help"])
def test_a_reader_that_stops_is_no_error(place, command):
    read, write = os.pipe()
    os.close(read)
    ended = run_process(*command.split(), stdout=write)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (1, "")


def test_standard_error_that_is_full_leaves_the_exit_code(place):
    with Path("/dev/full").open("w") as full:
        assert run_process("unheard-of", stderr=full).returncode == 2


def test_debug_shows_where(run, place):
    answer = run("inspect", "people.csv", "--debug")
    assert answer.code == 2
    assert "Traceback" in answer.err
    assert answer.err.splitlines()[-1].startswith("hedgerow: error: ")


def test_what_nobody_expected_is_a_line_and_exit_code_1(run, place, monkeypatch):
    def fail(*_, **__):
        raise KeyError("a bug")

    monkeypatch.setattr(hr.GradientBoostingClassifier, "fit", fail)
    answer = run("train", "people.csv", "--target", "answer")
    assert answer.code == 1
    (line,) = answer.err.splitlines()
    assert line == "hedgerow: error: unexpected KeyError: 'a bug' (--debug shows the traceback)"


def fail_of_space():
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (fail_of_space, 2),
        (lambda: signal.raise_signal(signal.SIGINT), 130),
        (lambda: signal.raise_signal(signal.SIGTERM), 143),
        (lambda: signal.raise_signal(signal.SIGHUP), 129),
    ],
)
def test_a_training_that_fails_at_the_end_leaves_nothing(run, place, monkeypatch, end, code):
    def fail(*_):
        end()

    before = everything_in(place)
    monkeypatch.setattr(hr.GradientBoostingClassifier, "save", fail)
    few = ("--param", "n_estimators=3", "--quiet", "--no-report")
    answer = run("train", "people.csv", "--target", "answer", *few, "--out", "deep/out")
    assert answer.code == code
    assert everything_in(place) == before


SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@pytest.mark.parametrize("ignored", SIGNALS)
def test_a_signal_that_is_ignored_stays_ignored(run, place, monkeypatch, ignored):
    save = hr.GradientBoostingClassifier.save
    monkeypatch.setattr(
        hr.GradientBoostingClassifier,
        "save",
        lambda *arguments: (signal.raise_signal(ignored), save(*arguments)),
    )
    before = signal.signal(ignored, signal.SIG_IGN)
    try:
        few = ("--param", "n_estimators=3", "--no-report", "--quiet")
        assert run("train", "people.csv", "--target", "answer", *few).code == 0
        assert signal.getsignal(ignored) is signal.SIG_IGN
    finally:
        signal.signal(ignored, before)


def test_a_training_that_fails_leaves_the_files_of_the_last(run, place, monkeypatch):
    few = ("--param", "n_estimators=3", "--quiet", "--no-report", "--out", "out")
    assert run("train", "people.csv", "--target", "answer", *few).code == 0
    before = {path: path.read_bytes() for path in (place / "out").iterdir()}
    monkeypatch.setattr(hr.GradientBoostingClassifier, "save", lambda *_: 1 / 0)
    assert run("train", "people.csv", "--target", "answer", *few, "--seed", 1).code == 1
    assert {path: path.read_bytes() for path in (place / "out").iterdir()} == before


def test_files_move_into_place_only_together(tmp_path):
    def write(folder):
        with all_or_nothing(folder) as staged:
            (staged / "one").write_text("1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "a" / "b")
    assert everything_in(tmp_path) == []


def test_what_a_killed_process_left_is_cleared_away_by_the_next(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl", reason="no locks of folders")
    monkeypatch.setattr(output, "_SECONDS_TO_LOCK", 3600)

    def write():
        with all_or_nothing(tmp_path) as staged:
            (staged / "one").write_text("1")
            return everything_in(tmp_path)

    def unfinished(name, seconds_ago):
        left = tmp_path / f".hedgerow-unfinished-{name}"
        left.mkdir()
        (left / "model.hedgerow").write_text("a part")
        os.utime(left, (time.time() - seconds_ago,) * 2)
        return left

    killed = unfinished("killed", 7200)
    new = unfinished("new", 0)
    alive = unfinished("alive", 7200)
    descriptor = os.open(alive, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    write()
    assert [path.exists() for path in (killed, new, alive)] == [False, True, True]
    os.close(descriptor)
    write()
    assert not alive.exists()
    assert (tmp_path / "one").read_text() == "1"


def test_a_process_says_one_line_and_exits_with_2(place):
    ended = run_process("train", "people.csv", "--target", "anwser")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "hedgerow: error: people.csv has no column 'anwser'. Did you mean 'answer'?\n"
    )


@pytest.mark.parametrize(
    ("sent", "code", "message"),
    [
        (signal.SIGINT, 130, b"interrupted"),
        (signal.SIGTERM, 143, b"terminated"),
    ],
)
def test_a_signal_ends_a_process_with_its_code_and_no_file(place, sent, code, message):
    before = everything_in(place)
    command = [
        *(sys.executable, "-m", "hedgerow", "train", "people.csv", "--target", "answer"),
        *("--test-size", "0", "--param", "n_estimators=1000000"),
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=ENVIRONMENT, **pipes) as process:
        process.stderr.readline()  # the first line of progress: rounds are running
        process.send_signal(sent)
        out, err = process.communicate()
    assert process.returncode == code
    assert out == b""
    assert err.splitlines()[-1] == b"hedgerow: " + message
    assert b"Traceback" not in err
    assert everything_in(place) == before


@pytest.fixture
def own_files(classes, new, tmp_path):
    """Make a table, a model, and other names of the table: a symbolic and a hard link."""
    table, model = tmp_path / "in.csv", tmp_path / "model.hedgerow"
    table.write_bytes(new.read_bytes())
    model.write_bytes(classes.read_bytes())
    (tmp_path / "symbolic.csv").symlink_to(table)
    (tmp_path / "hard.csv").hardlink_to(table)
    (tmp_path / "page.html").hardlink_to(table)
    (tmp_path / "report.html").symlink_to(table)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        *(f"predict model.hedgerow in.csv -o {name}.csv" for name in ("in", "symbolic", "hard")),
        "predict model.hedgerow symbolic.csv -o ./in.csv",
        "explain model.hedgerow in.csv -o in.csv",
        "report model.hedgerow page.html --format csv --target answer -o page.html",
        "train report.html --format csv --target answer --out .",
        "train in.csv --target answer --out .",
        "train in.csv --target answer --test report.html --format csv --out .",
        "convert model.hedgerow model.hedgerow",
    ],
)
def test_an_input_is_not_overwritten(run, own_files, monkeypatch, command):
    from hedgerow._cli import dataset

    def no_work(*_, **__):
        raise AssertionError("worked before files were compared")

    before = {path.name: path.read_bytes() for path in own_files.iterdir()}
    monkeypatch.chdir(own_files)
    for module, name in ((hr, "read_model"), (dataset, "read_file")):
        monkeypatch.setattr(module, name, no_work)
    answer = run(*command.split())
    assert answer.code == 2
    assert "it is the input" in answer.err
    assert {path.name: path.read_bytes() for path in own_files.iterdir()} == before


def test_parquet_files_of_a_folder_are_not_overwritten(run, classes, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    make_people(20).to_parquet(parts / "a.parquet")
    before = (parts / "a.parquet").read_bytes()
    answer = run("predict", classes, parts, "--out-of-core", "-o", parts / "a.parquet")
    assert answer.code == 2
    assert "it is the input" in answer.err
    assert (parts / "a.parquet").read_bytes() == before


def test_a_report_is_a_web_page(run, classes, new, tmp_path):
    answer = run("report", classes, new, "--target", "answer", "-o", tmp_path / "a.pdf")
    assert answer.code == 2
    assert "must end in .html, .htm" in answer.err
    assert not list(tmp_path.iterdir())
