"""Bad input to every command: one clear line, exit code 2, nothing written."""

import signal
import subprocess
import sys
import time

import pytest

import hedgerow as hr
from commands import ENVIRONMENT, everything_in, make_people, run_process
from hedgerow.cli.output import all_or_nothing


@pytest.fixture
def place(folder, tmp_path, monkeypatch):
    """Make a folder with good files and bad ones, and go there."""
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
    (tmp_path / "gap.csv").write_text("x,y\n1,2.5\n2,\n3,1.5\n4,1\n5,2\n6,2\n7,8.5\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("a,b\n")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "table.xyz").write_text("a,b\n1,2\n")
    (tmp_path / "broken.parquet").write_text("a,b\n1,2\n")
    (tmp_path / "broken.arrow").write_text("a,b\n1,2\n")
    (tmp_path / "broken.svm").write_text("a,b\n1,2\n")
    (tmp_path / "broken.json").write_text('{"format": "other"}')
    (tmp_path / "no_model.hedgerow").write_text("not a model at all, whatever it is called" * 9)
    (tmp_path / "cut.hedgerow").write_bytes((tmp_path / "m.hedgerow").read_bytes()[:-9])
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRAIN = "train people.csv --target answer "
BAD = [
    # what is asked, and what the line must name
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
    ("train people.csv --target anwser", "Did you mean 'answer'?"),
    ("train people.csv --target zzz", "There are 'person', 'town'"),
    ("train no_target.csv --target answer", "the target is empty"),
    ("train gap.csv --target y --test-size 0", "y contains"),
    ("train one_class.csv --target answer --test-size 0", "one class only"),
    ("train infinite.csv --target amount", "infinity"),
    (TRAIN + "--weights wieght", "Did you mean 'weight'?"),
    (TRAIN + "--drop twon", "Did you mean 'town'?"),
    (TRAIN + "--drop person,town,age,income,member,weight,group,amount", "no columns to learn"),
    (TRAIN + "--model forest", "Did you mean 'random_forest'?"),
    (TRAIN + "--param n_estimator=5", "Did you mean 'n_estimators'?"),
    (TRAIN + "--param n_estimators=many", "n_estimators='many' is not allowed"),
    (TRAIN + "--param n_estimators=0", "n_estimators=0 is not allowed"),
    (TRAIN + "--param n_estimators", "write name=value"),
    (TRAIN + "--param loss=squared_error", "loss='squared_error' is not allowed"),
    (TRAIN + "--model random_forest --budget quick", "no such parameter"),
    (TRAIN + "--model neighbors --weights weight", "takes no weights"),
    (TRAIN + "--cv 3 --test-size 0.5", "choose one"),
    (TRAIN + "--test missing.csv", "No such file"),
    (TRAIN + "--test no_age.csv", "no column 'age'"),
    (TRAIN + "--test-size 2", "--test-size"),
    (TRAIN + "--out file", "not a folder"),
    (TRAIN + "--out file/deeper", "not a folder"),
    (TRAIN + "--task ranking", "needs --qid"),
    (TRAIN + "--task regression", "y"),
    (TRAIN + "--qid group --event member", "one of them"),
    (TRAIN + "--event town", "true or false"),
    (TRAIN + "--task counts --model svm", "--model svm is not for counts"),
    (TRAIN + "--threads 0", "n_jobs=0 is not allowed"),
    (TRAIN + "--unheard-of", "No such option"),
    ("predict missing.hedgerow new.csv", "No such file or directory: missing.hedgerow"),
    ("predict no_model.hedgerow new.csv", "not a Hedgerow model file"),
    ("predict cut.hedgerow new.csv", "damaged"),
    ("predict m.hedgerow missing.csv", "No such file or directory: missing.csv"),
    ("predict m.hedgerow no_age.csv -o p.csv", "no column 'age'"),
    ("predict m.hedgerow age_text.csv -o p.csv", "'age' held numbers in fit"),
    ("predict m.hedgerow new.csv -o p.xlsx", "must end in .csv"),
    ("predict m.hedgerow new.csv -o file/p.csv", "there is no folder file"),
    ("predict m.hedgerow new.csv --interval", "no intervals"),
    ("predict n.hedgerow new.csv --interval", "predict_interval needs rows"),
    ("predict n.hedgerow new.csv --proba -o p.csv", "no probabilities"),
    ("predict m.hedgerow new.csv --id persn", "Did you mean 'person'?"),
    ("predict m.hedgerow new.csv --threads 0", "n_jobs=0 is not allowed"),
    ("evaluate m.hedgerow new.csv", "--target"),
    ("evaluate m.hedgerow new.csv --target anwser", "Did you mean 'answer'?"),
    ("evaluate m.hedgerow perhaps.csv --target answer", "the model knows the classes 'no', 'yes'"),
    ("evaluate m.hedgerow no_age.csv --target answer", "no column 'age'"),
    ("evaluate m.hedgerow new.csv --target answer --qid group", "--qid is for rankings"),
    ("evaluate n.hedgerow new.csv --target answer", "y"),
    ("explain m.hedgerow no_age.csv", "no column 'age'"),
    ("explain m.hedgerow new.csv --rows 60", "the rows are 0 to 59"),
    ("explain m.hedgerow new.csv --rows a-b", "such as 0-4,7"),
    ("explain m.hedgerow new.csv --rows 4-2", "names no row"),
    ("explain m.hedgerow new.csv -o values.txt", "must end in .csv"),
    ("report m.hedgerow new.csv -o page.html", "--target"),
    ("report m.hedgerow no_age.csv --target answer -o page.html", "no column 'age'"),
    ("report m.hedgerow new.csv --target answer -o file/page.html", "there is no folder file"),
    ("inspect missing.hedgerow", "No such file or directory: missing.hedgerow"),
    ("inspect people.csv", "not a Hedgerow model file"),
    ("inspect m.hedgerow --tree 99", "the trees are 0 to 11"),
    ("convert m.hedgerow model.onnx", "must end in .json or .hedgerow"),
    ("convert people.csv model.json", "not a Hedgerow model file"),
    ("convert broken.json model.hedgerow", "not a model in Hedgerow's JSON"),
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
    assert answer.err == "hedgerow: error: unexpected: KeyError: 'a bug' (--debug shows where)\n"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_training_that_fails_at_the_end_leaves_nothing(run, place, monkeypatch, error):
    def fail(*_):
        raise error

    before = everything_in(place)
    monkeypatch.setattr(hr.GradientBoostingClassifier, "save", fail)
    few = ("--param", "n_estimators=3", "--quiet")
    answer = run("train", "people.csv", "--target", "answer", *few, "--out", "deep/out")
    assert answer.code == (2 if isinstance(error, OSError) else 130)
    assert everything_in(place) == before


def test_a_training_that_fails_leaves_the_files_of_the_last(run, place, monkeypatch):
    few = ("--param", "n_estimators=3", "--quiet", "--out", "out")
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


def test_a_process_says_one_line_and_exits_with_2(place):
    ended = run_process("train", "people.csv", "--target", "anwser")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "hedgerow: error: people.csv has no column 'anwser'. Did you mean 'answer'?\n"
    )


def test_an_interrupt_ends_a_process_with_130_and_no_file(place):
    before = everything_in(place)
    command = [
        *(sys.executable, "-m", "hedgerow", "train", "people.csv", "--target", "answer"),
        *("--test-size", "0", "--param", "n_estimators=1000000"),
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=ENVIRONMENT, **pipes) as process:
        process.stderr.readline()  # the first line of progress: rounds are running
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - started < 30
    assert out == b""
    assert err.splitlines()[-1] == b"hedgerow: interrupted"
    assert b"Traceback" not in err
    assert everything_in(place) == before
