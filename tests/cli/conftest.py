"""A table as a CSV file, models of it, and a way to run commands."""

from dataclasses import dataclass

import pytest

from commands import FEW, make_people, without
from hedgerow._cli import main


@dataclass
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    """Run a command in this process."""

    def run_command(*arguments):
        capsys.readouterr()
        code = main(list(map(str, arguments)))
        return Answer(code, *capsys.readouterr())

    return run_command


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Make a folder of files to read and models to use, but not to change."""
    folder = tmp_path_factory.mktemp("files")
    make_people().to_csv(folder / "people.csv", index=False)
    make_people(60, seed=1).to_csv(folder / "new.csv", index=False)
    for target, name in (("answer", "classes"), ("amount", "numbers")):
        out = ("--test-size", "0", "--out", str(folder / name))
        data = ("train", str(folder / "people.csv"), "--target", target)
        assert main([*data, *without(target), *out, *FEW]) == 0
    return folder


@pytest.fixture(scope="session")
def people(folder):
    return folder / "people.csv"


@pytest.fixture(scope="session")
def new(folder):
    return folder / "new.csv"


@pytest.fixture(scope="session")
def classes(folder):
    return folder / "classes" / "model.hedgerow"


@pytest.fixture(scope="session")
def numbers(folder):
    return folder / "numbers" / "model.hedgerow"
