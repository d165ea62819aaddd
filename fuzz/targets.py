"""One target per reader: bytes are refused by a documented exception, or give a whole result.

    python fuzz/targets.py <name> [options of libFuzzer] [folders of inputs]

Atheris follows the branches of the Python readers. The kernels are not instrumented, but models
that are read predict, so that kernels get what the readers let pass. Everything that is not
documented is a finding: another exception, a crash, a hang, or memory beyond libFuzzer's limit.
"""

from __future__ import annotations

import gc
import json
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import atheris
import numpy as np

from hedgerow import DataError, GradientBoostingClassifier, HedgerowError, ModelFileError
from hedgerow._cli.csv_file import read_csv
from hedgerow._import import reading
from hedgerow._model_file import container
from hedgerow._model_file.checkpoint import read_model
from hedgerow._model_file.text import from_json
from hedgerow._plain_values import NotPlainError, pack_value, unpack_value
from hedgerow.cluster import _frames

TARGETS: dict[str, Callable[[bytes], None]] = {}
ROWS = np.random.default_rng(0).normal(size=(8, 1))
ROWS[::3] = np.nan
MOST_FEATURES = 1_000  # of models that predict
KEY = bytes(32)
ODD: list[Any] = [0, 1, -1, 7, 255, 2**31, -(2**63), 10**30, 0.5, -0.0, 1e308, 5e-324, float("nan")]
ODD += [None, True, "", "x", "nan", "-inf", [], {}, [0], [[]], {"x": 0}]
BY_BYTES = 0.3  # the share of changes in which a document is a text like any other
DEEPER = 0.9  # the probability of going on to a value within a value
DELETED = 0.1  # the share of values that are deleted instead of replaced


def target(function: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Register a target; it returns, or raises what is documented."""
    TARGETS[function.__name__] = function
    return function


def use(model: Any) -> None:
    """Predict; a model may want other rows, or functions that no file contains."""
    n_features = getattr(model, "n_features_in_", 1)  # stagewise models may take other things
    if n_features > MOST_FEATURES:
        return
    rows = ROWS.repeat(n_features, axis=1)
    for method in ("predict", "apply", "kneighbors"):
        if hasattr(model, method):
            with suppress(HedgerowError):
                getattr(model, method)(rows)


def read(reader: Callable[[bytes], Any], data: bytes) -> None:
    """Read a model and use it, unless the reader refuses it."""
    try:
        model = reader(data)
    except ModelFileError:
        return
    use(model)


@target
def own_file(data: bytes) -> None:
    """A model file: document, table of arrays and their bytes; the checksum is always right."""
    document, _, rest = data.partition(b"\n")
    table, _, arrays = rest.partition(b"\n")
    text = json.dumps(document.decode("utf-8", "replace")).encode("ascii")
    header = b'","hedgerow":' + text + b"}," + table.removeprefix(b"{")
    length = container.BEGINNING - 8 + len(header)
    beginning = length.to_bytes(8, "little") + container._START
    digest = container._digest([beginning, header, arrays])
    read(lambda whole: read_model(*container.unpack(whole)), beginning + digest + header + arrays)


@target
def own_json(data: bytes) -> None:
    """A model of Hedgerow as JSON."""
    read(from_json, data)


@target
def xgboost_json(data: bytes) -> None:
    """A model of XGBoost as JSON."""
    read(reading._read_json, data)


@target
def xgboost_ubjson(data: bytes) -> None:
    """A model of XGBoost as UBJSON."""
    read(reading._read_ubjson, data)


@target
def lightgbm_text(data: bytes) -> None:
    """A model of LightGBM."""
    read(reading._read_text, data)


@target
def catboost_json(data: bytes) -> None:
    """A model of CatBoost as JSON."""
    read(reading._read_json, data)


@target
def plain_values(data: bytes) -> None:
    """What workers of a cluster send to each other; what is read is written and read again."""
    try:
        value = unpack_value(data)
    except NotPlainError:
        return
    unpack_value(pack_value(value))


@target
def frames(data: bytes) -> None:
    """A message between workers, changed on its way: it is refused."""
    half = len(data) // 2
    payload = _frames.Payload.of(data[:half])
    sent = _frames.Direction(KEY).seal(1, 2, payload) + payload.content
    change = data[half:].ljust(len(sent), b"\0")
    received = bytes(a ^ b for a, b in zip(sent, change, strict=False))
    try:
        header = _frames.Direction(KEY).open(received[: _frames.HEADER])
        _frames.check_payload(received[_frames.HEADER :], header)
    except _frames.BadMessageError:
        assert received != sent
    else:
        assert received == sent


@target
def csv_file(data: bytes) -> None:
    """A CSV file of the command line."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file, suppress(DataError):
        file.write(data)
        file.flush()
        read_csv(Path(file.name), lambda _: None)


@target
def request(data: bytes) -> None:
    """A row to be predicted, as a server gets it: a dict from JSON."""
    try:
        row = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(row, dict):
        with suppress(DataError):
            _served().predict(row)


@cache
def _served() -> Any:
    plans = ["basic", "plus", None, "basic"]
    rows = [{"plan": plans[i % 4], "fee": float(i % 7), "age": i % 5} for i in range(40)]
    return GradientBoostingClassifier(n_estimators=3).fit(rows, [i % 3 for i in range(40)])


def mutate(data: bytes, most_bytes: int, seed: int) -> bytes:
    """Change a value of one of the JSON documents at the beginning, or else bytes anywhere."""
    rng = random.Random(seed)
    lines = data.split(b"\n", 2)
    at = rng.randrange(len(lines))
    try:
        document = json.loads(lines[at])
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict | list) or rng.random() < BY_BYTES:
        return bytes(atheris.Mutate(data, most_bytes))
    change_value(document, rng)
    lines[at] = json.dumps(document, separators=(",", ":")).encode()
    return b"\n".join(lines)[:most_bytes]


def change_value(document: Any, rng: random.Random) -> None:
    """Replace a value somewhere in a document by an odd one or a neighbour, or delete it."""
    inside = document
    while inside:
        key = rng.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
        if not (inside[key] and isinstance(inside[key], dict | list) and rng.random() < DEEPER):
            break
        inside = inside[key]
    else:
        return
    neighbours = list(inside.values()) if isinstance(inside, dict) else inside
    inside[key] = rng.choice([rng.choice(ODD), rng.choice(neighbours)])
    if rng.random() < DELETED:
        del inside[key]


def instrument() -> None:
    """Count the branches of all functions, after import: editable installs import by their own."""
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and str(thing.__module__).startswith("hedgerow"):
            atheris.instrument_func(thing)


def main() -> None:
    """Run a target; libFuzzer takes the other arguments."""
    name = sys.argv.pop(1)
    warnings.simplefilter("ignore")
    instrument()
    atheris.Setup(sys.argv, TARGETS[name], custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
