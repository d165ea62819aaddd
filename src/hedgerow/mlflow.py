"""Models in MLflow: a flavour over `.hedgerow` files, which run no code when they are loaded.

`save_model`, `log_model` and `load_model` are those of a flavour; `autolog` logs parameters and the
metrics of every round of gradient boosting. Needs ``pip install mlflow-skinny`` or ``mlflow``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import mlflow
import yaml
from mlflow import MlflowClient, pyfunc
from mlflow.entities import Metric
from mlflow.models import Model, ModelSignature
from mlflow.models.model import MLMODEL_FILE_NAME
from mlflow.models.utils import _save_example
from mlflow.tracking.artifact_utils import _download_artifact_from_uri
from mlflow.types import ColSpec, Schema
from mlflow.types.schema import AnyType
from mlflow.utils.environment import (
    _CONDA_ENV_FILE_NAME,
    _CONSTRAINTS_FILE_NAME,
    _PYTHON_ENV_FILE_NAME,
    _REQUIREMENTS_FILE_NAME,
    _mlflow_conda_env,
    _process_conda_env,
    _process_pip_requirements,
    _PythonEnv,
    _validate_env_arguments,
)
from mlflow.utils.file_utils import write_to
from mlflow.utils.model_utils import (
    _add_code_from_conf_to_system_path,
    _get_flavor_configuration,
    _validate_and_copy_code_paths,
    _validate_and_prepare_target_save_path,
)

import hedgerow
from hedgerow._boosting.fit import observers
from hedgerow._contract import internals
from hedgerow._estimator import Estimator
from hedgerow._params import short_repr
from hedgerow.exceptions import ParameterError

if TYPE_CHECKING:
    from hedgerow._boosting.fit.loop import RoundInfo

FLAVOR_NAME = "hedgerow"
_DATA = "model.hedgerow"
# The longest value of a parameter that tracking servers store.
_LONGEST = 500
# Metrics are sent together, at the latest after this many or this many seconds.
_MOST_METRICS, _MOST_SECONDS = 500, 10.0

PredictFunction = Literal["predict", "predict_proba", "decision_function"]
__all__ = [
    *("autolog", "get_default_conda_env", "get_default_pip_requirements"),
    *("load_model", "log_model", "save_model"),
]


def get_default_pip_requirements() -> list[str]:
    """Return what a server of a saved model installs."""
    return [f"hedgerow=={hedgerow.__version__}"]


def get_default_conda_env() -> Any:
    """Return the same as a Conda environment."""
    return _mlflow_conda_env(additional_pip_deps=get_default_pip_requirements())


def save_model(
    model: Any,
    path: str | PathLike[str],
    *,
    pyfunc_predict_fn: PredictFunction = "predict",
    mlflow_model: Model | None = None,
    signature: ModelSignature | Literal[False] | None = None,
    input_example: Any = None,
    pip_requirements: Any = None,
    extra_pip_requirements: Any = None,
    conda_env: Any = None,
    code_paths: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Save a fitted estimator as an MLflow model in a folder.

    Parameters
    ----------
    model : fitted estimator
        An estimator that a model file can hold.
    path : str or path-like
        The folder, which must be empty or absent.
    pyfunc_predict_fn : {"predict", "predict_proba", "decision_function"}
        The method that the generic interface (``mlflow.pyfunc``) calls.
    signature : ModelSignature or False, optional
        The columns of tables. None takes their names from the model, if they have names, and
        leaves types open; False is none.
    mlflow_model, input_example, pip_requirements, extra_pip_requirements, conda_env, code_paths, \
metadata :
        As in the flavours of MLflow.
    """
    _require_model(model, pyfunc_predict_fn)
    _validate_env_arguments(conda_env, pip_requirements, extra_pip_requirements)
    folder = Path(path)
    _validate_and_prepare_target_save_path(str(folder))
    code = _validate_and_copy_code_paths(code_paths, str(folder))
    described = Model() if mlflow_model is None else mlflow_model
    if signature is None:
        signature = signature_of(model)
    if signature:
        described.signature = signature
    if metadata is not None:
        described.metadata = metadata
    if input_example is not None:
        _save_example(described, input_example, str(folder))
    model.save(folder / _DATA)
    pyfunc.add_to_model(
        described,
        loader_module="hedgerow.mlflow",
        data=_DATA,
        conda_env=_CONDA_ENV_FILE_NAME,
        python_env=_PYTHON_ENV_FILE_NAME,
        code=code,
    )
    described.add_flavor(
        FLAVOR_NAME,
        hedgerow_version=hedgerow.__version__,
        data=_DATA,
        estimator=type(model).__name__,
        predict_fn=pyfunc_predict_fn,
        code=code,
    )
    described.save(str(folder / MLMODEL_FILE_NAME))
    _write_environment(folder, conda_env, pip_requirements, extra_pip_requirements)


def log_model(model: Any, name: str = "model", **options: Any) -> Any:
    """Log a fitted estimator to the active run of MLflow; return what describes it.

    Parameters
    ----------
    model : fitted estimator
        As in `save_model`.
    name : str
        The name of the logged model.
    **options
        The options of `save_model`, and those of `mlflow.models.Model.log`, such as
        ``registered_model_name``.
    """
    from hedgerow import mlflow as flavor

    return Model.log(artifact_path=None, name=name, flavor=flavor, model=model, **options)


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Return the estimator that `save_model` or `log_model` stored.

    Parameters
    ----------
    model_uri : str
        A folder, or a URI of MLflow, such as ``runs:/<run>/model`` or ``models:/<name>/<version>``.
    dst_path : str, optional
        Where to download the model to.
    """
    folder = _download_artifact_from_uri(artifact_uri=model_uri, output_path=dst_path)
    configuration = _get_flavor_configuration(folder, FLAVOR_NAME)
    _add_code_from_conf_to_system_path(folder, configuration)
    return hedgerow.load(Path(folder) / configuration["data"])


def signature_of(model: Any) -> ModelSignature | None:
    """Return the named columns that a model was fitted to; None if they have no names.

    A column may have any type. MLflow converts hardly anything: for a "double" it refuses integers
    and booleans, for a "long" an integer column in which a value is missing, and for a "string"
    the categories of pandas. The model takes all of these and checks the values itself.
    """
    schema: Any = getattr(internals(model).model(), "schema", None)
    names = None if schema is None else schema.feature_names
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return ModelSignature(inputs=Schema([ColSpec(AnyType(), name) for name in names]))


class _Predictor:
    """The generic interface of a model."""

    def __init__(self, model: Any, method: str) -> None:
        self.model, self._method = model, method

    def get_raw_model(self) -> Any:
        """Return the estimator."""
        return self.model

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> Any:  # noqa: ARG002
        """Return what the chosen method predicts for a table."""
        return getattr(self.model, self._method)(data)


def _load_pyfunc(path: str) -> _Predictor:
    """Return the generic interface; `path` is the model file, beside what describes it."""
    configuration = _get_flavor_configuration(str(Path(path).parent), FLAVOR_NAME)
    return _Predictor(hedgerow.load(path), configuration["predict_fn"])


def _require_model(model: Any, predict_fn: str) -> None:
    if not isinstance(model, Estimator):
        raise ParameterError(
            f"model={short_repr(model)} is not an estimator of this library. For a pipeline, use "
            "mlflow.sklearn."
        )
    internals(model).model()  # which raises if it is not fitted
    if predict_fn not in ("predict", "predict_proba", "decision_function"):
        raise ParameterError(
            f"pyfunc_predict_fn={predict_fn!r} is not allowed; it must be 'predict', "
            "'predict_proba' or 'decision_function'."
        )
    if not hasattr(model, predict_fn):
        raise ParameterError(
            f"pyfunc_predict_fn={predict_fn!r}: a {type(model).__name__} has no such method."
        )


def _write_environment(folder: Path, conda_env: Any, requirements: Any, extra: Any) -> None:
    """Write what is to be installed where the model is served, in the files that MLflow reads."""
    if conda_env is None:
        defaults = get_default_pip_requirements() if requirements is None else None
        parts = _process_pip_requirements(defaults, requirements, extra)
    else:
        parts = _process_conda_env(conda_env)
    conda, requirements, constraints = parts
    (folder / _CONDA_ENV_FILE_NAME).write_text(yaml.safe_dump(conda, sort_keys=False))
    if constraints:
        write_to(str(folder / _CONSTRAINTS_FILE_NAME), "\n".join(constraints))
    write_to(str(folder / _REQUIREMENTS_FILE_NAME), "\n".join(requirements))
    _PythonEnv.current().to_yaml(str(folder / _PYTHON_ENV_FILE_NAME))


# ---- autolog -------------------------------------------------------------------------------------


def autolog(*, log_models: bool = True, disable: bool = False) -> None:
    """Log fits of gradient boosting from now on: parameters, metrics of each round, the model.

    A fit is logged to the active run. If there is none, or it has a fit already (as in
    cross-validation), the fit gets a run of its own. Metrics are named ``<set>-<metric>``.

    Parameters
    ----------
    log_models : bool
        Whether to log fitted models, too.
    disable : bool
        Log no more fits.
    """
    for observer in _AUTOLOGS.values():
        observers.ignore(observer)
    if not disable:
        observers.observe(_AUTOLOGS[bool(log_models)])


@contextmanager
def _with_model(estimator: Any) -> Iterator[_RunLog]:
    with _without_model(estimator) as log:
        yield log
        log_model(estimator)


@contextmanager
def _without_model(estimator: Any) -> Iterator[_RunLog]:
    active = mlflow.active_run()
    if active is not None and active.info.run_id not in _RunLog.used:
        yield from _logged(estimator, active.info.run_id)
        return
    with mlflow.start_run(nested=active is not None) as run:
        yield from _logged(estimator, run.info.run_id)


_AUTOLOGS = {True: _with_model, False: _without_model}


def _logged(estimator: Any, run_id: str) -> Iterator[_RunLog]:
    _RunLog.used.add(run_id)
    parameters = estimator.get_params(deep=False)
    mlflow.log_params({name: short_text(value) for name, value in parameters.items()})
    mlflow.set_tags({"estimator": type(estimator).__name__, "hedgerow": hedgerow.__version__})
    log = _RunLog(run_id)
    try:
        yield log
    finally:
        log.send()
    chosen = getattr(estimator, "auto_", None)
    if chosen is not None:
        parameters = {f"chosen_{name}": str(value) for name, value in chosen.parameters.items()}
        mlflow.log_params(parameters)
    best = {name: getattr(estimator, f"{name}_", None) for name in ("best_iteration", "best_score")}
    finals = {"n_iter": estimator.n_iter_} | best
    mlflow.log_metrics({name: float(v) for name, v in finals.items() if v is not None})


def short_text(value: Any) -> str:
    """Return a parameter as text that a tracking server accepts."""
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class _RunLog:
    """A callback that collects the metrics of rounds and sends them to a run."""

    used: set[str] = set()  # noqa: RUF012  runs that have a fit

    def __init__(self, run_id: str) -> None:
        self._run_id, self._client = run_id, MlflowClient()
        self._metrics: list[Metric] = []
        self._sent = time.monotonic()

    def after_round(self, info: RoundInfo) -> None:
        """Take the metrics of a round."""
        now = int(time.time() * 1000)
        self._metrics += [
            Metric(f"{of}-{name}".replace("@", "_at_"), float(value), now, info.round)
            for of, values in info.metrics.items()
            for name, value in values.items()
        ]
        is_late = time.monotonic() - self._sent > _MOST_SECONDS
        if len(self._metrics) >= _MOST_METRICS or (self._metrics and is_late):
            self.send()

    def send(self) -> None:
        """Send what was collected."""
        for first in range(0, len(self._metrics), _MOST_METRICS):
            part = self._metrics[first : first + _MOST_METRICS]
            self._client.log_batch(self._run_id, metrics=part)
        self._metrics, self._sent = [], time.monotonic()
