"""Reads a CatBoost model in binary format from stdin and writes its JSON: the child of `cbm.py`.

    python -I cbm_child.py <sys.path as JSON> <path of the JSON>

It is run as a file and imports nothing of Hedgerow, so that it starts quickly.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from importlib import import_module


def main() -> None:
    """Convert; errors of CatBoost end the process with their message on stderr."""
    search_path, path = sys.argv[1:]
    with suppress(ImportError):  # of Windows, where a crash leaves no file
        resource = import_module("resource")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is expected, and leaves no file
    sys.path[:] = json.loads(search_path)  # CatBoost comes from where the parent would import it
    data = sys.stdin.buffer.read()
    try:
        model = import_module("catboost").CatBoost()
        model.load_model(blob=data)
        model.save_model(path, format="json")
    except Exception as error:  # noqa: BLE001  CatBoost's own, which is not imported by name
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
