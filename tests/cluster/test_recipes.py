"""The examples of other communicators run, where these are installed, and give the local model."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

import hedgerow as hr

EXAMPLES = Path(__file__).parents[2] / "docs" / "recipes"
MPIEXEC = Path(sys.executable).with_name("mpiexec")


def is_local_model(file, folder):
    X, y = load_breast_cancer(return_X_y=True)
    hr.GradientBoostingClassifier(n_estimators=20).fit(X, y).save(folder / "local")
    return file.read_bytes() == (folder / "local").read_bytes()


@pytest.mark.skipif(
    find_spec("mpi4py") is None or not MPIEXEC.exists(), reason="needs mpi4py and mpich"
)
@pytest.mark.parametrize("size", [1, 3])
def test_mpi(tmp_path, size):
    command = [MPIEXEC, "-n", str(size), sys.executable, EXAMPLES / "mpi_fit.py"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert is_local_model(tmp_path / "mpi.hedgerow", tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs ray")
def test_ray(tmp_path):
    command = [sys.executable, EXAMPLES / "ray_fit.py"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert is_local_model(tmp_path / "ray.hedgerow", tmp_path)
