"""Inputs from which fuzzing begins: small models that are fitted now, and words of their formats.

    python fuzz/seeds.py <folder>

The models are those of the tests that mutate them: `fuzz_model_file.py`, `fuzz_foreign_models.py`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

TESTS = str(Path(__file__).parents[1] / "tests")
MOST_BYTES = 20_000  # larger inputs slow everything down
MOST_WORDS = 500
ODD = ["-1", "0", "1e400", "-0.0", "NaN", "null", "true", "2147483648", "1e308", "[]", "{}", '""']
TABLES = [
    "a,b\n1,2\n3,4\n",
    'id;price;"made on"\n007;1,5;2024-01-31\n008;n/a;2024-02-30\n',
    "\ufeffx\tx\n1\t2\n",
    "y|flag\ntrue|-1.#IND\nfalse|0x1F\n",
]
REQUESTS = ['{"plan": "plus", "fee": 1.5, "age": 3}', '{"fee": null, "plan": 7, "age": "old"}']
VALUES = [
    None,
    [1, 2.5, "x", (True, b"bytes")],
    {("a", 1): np.arange(3.0), 2: np.array(["x", None], object)},
    np.array([["label"]]),
    np.dtype("<f4"),
]


def seeds() -> dict[str, list[bytes]]:
    """Return the inputs of each target."""
    from hedgerow._plain_values import pack_value

    sys.path.insert(0, TESTS)
    foreign = list(_foreign())
    return {
        **_own(),
        "xgboost_json": [data for kind, data in foreign if kind == "json" and b"learner" in data],
        "xgboost_ubjson": [data for kind, data in foreign if kind == "ubj"],
        "lightgbm_text": [data for kind, data in foreign if kind == "txt"],
        "catboost_json": [data for kind, data in foreign if b"features_info" in data],
        "plain_values": [pack_value(value) for value in VALUES],
        "frames": [bytes(100), bytes(range(100))],
        "csv_file": [table.encode() for table in TABLES],
        "request": [row.encode() for row in REQUESTS],
    }


def _foreign() -> Iterable[tuple[str, bytes]]:
    from fuzz_foreign_models import originals

    return originals()


def _own() -> dict[str, list[bytes]]:
    """Return models of this library, as `targets.own_file` and `targets.own_json` read them."""
    from fuzz_model_file import header_of, make_models
    from hedgerow._model_file.container import pack
    from hedgerow._model_file.contents import write_estimator
    from hedgerow._model_file.text import to_json

    files, texts = [], []
    for model in make_models():
        data = pack(*write_estimator(model))
        header = header_of(data)
        document = header.pop("__metadata__")["hedgerow"]
        arrays = data[8 + int.from_bytes(data[:8], "little") :]
        files.append(b"\n".join([document.encode(), json.dumps(header).encode(), arrays]))
        texts.append(to_json(model).encode())
    return {"own_file": files, "own_json": texts}


def write(folder: Path) -> None:
    """Write the inputs of each target into a folder of its name, and its words beside it."""
    for name, inputs in seeds().items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        small = [data for data in inputs if len(data) <= MOST_BYTES] or [min(inputs, key=len)]
        for number, data in enumerate(small):
            (folder / name / str(number)).write_bytes(data)
        lines = [f'"{_escaped(word)}"\n' for word in _words(small)]
        (folder / f"{name}.dict").write_text("".join(lines), encoding="ascii")


def _words(inputs: list[bytes]) -> Iterator[str]:
    """Yield names and words of texts, and odd values."""
    found = re.findall(rb'"[a-z]\w{1,40}"|^[a-z]\w{1,40}=', b"\n".join(inputs), re.MULTILINE)
    yield from (word.decode() for word in sorted(set(found))[:MOST_WORDS])
    yield from ODD


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"')


if __name__ == "__main__":
    write(Path(sys.argv[1]))
