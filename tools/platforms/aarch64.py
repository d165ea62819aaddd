"""Linux on aarch64: Debian's Python under qemu."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tools.platforms.commands import Platform, Python, on_linux, pip_for
from tools.platforms.debian import unpack_packages


def _python(folder: Path, search: Sequence[Path]) -> Python:
    root = unpack_packages(folder, "arm64", ("python3.13", "libstdc++6"))
    python = root / "usr" / "bin" / "python3.13"
    return on_linux(("qemu-aarch64", "-L", root, python), folder, search)


AARCH64 = Platform(
    wheel="manylinux*_aarch64.whl",
    tools={"qemu-aarch64": "qemu-user", "apt-get": "apt", "dpkg-deb": "dpkg"},
    pip=pip_for("manylinux2014_aarch64", *(f"manylinux_2_{n}_aarch64" for n in (17, 24, 27, 28))),
    python=_python,
)
