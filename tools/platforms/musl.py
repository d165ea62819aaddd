"""Linux with the C library musl, on x86-64: CPython, compiled from Debian's sources.

Python's foundation publishes none, and Debian's are for glibc. Beside Python, libraries are
compiled without which its modules for archives, ctypes and encrypted connections are left out. The
compiler is that of the wheels, and musl is Debian's: one before 1.2.4 loads no NumPy. With this
Python, pip takes the wheels that a user would, and compiles what has none: scikit-learn.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.platforms.commands import Platform, Python, on_linux, run
from tools.platforms.debian import unpack_packages, unpack_sources

_COMPILER = """#!/bin/sh
exec {zig} {language} -target x86_64-linux-musl -dynamic -Wl,--dynamic-linker={loader} \\
    -fno-sanitize=all -Wno-date-time "$@"
"""
_OPENSSL = ("linux-x86_64", "no-shared", "no-tests", "no-apps", "no-docs", "--libdir=lib")
# How each is configured and installed, in this order.
_SOURCES = {
    "zlib": (("./configure", "--static"), "install"),
    "libffi": (("./configure", "--disable-shared", "--disable-docs"), "install"),
    "openssl": (("./Configure", *_OPENSSL), "install_dev"),
    "python3.13": (("./configure", "--disable-test-modules", "--without-ensurepip"), "install"),
}


def _python(folder: Path, search: Sequence[Path]) -> Python:
    return on_linux((_interpreter(folder),), folder, search)


def _pip(folder: Path) -> Python:
    """Return this machine's pip, run by that Python. Where it compiles, it finds ninja."""
    pip = (sys.executable, "-m", "pip", f"--python={_interpreter(folder)}", "install")
    tools = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return Python(pip, _building(folder) | {"PATH": tools})


def _interpreter(folder: Path) -> Path:
    python = folder / "installed" / "bin" / "python3.13"
    if not python.exists():
        _compile(folder)
    return python


def _compile(folder: Path) -> None:
    installed = folder / "installed"
    sources = unpack_sources(folder, _SOURCES)
    _write_compilers(folder)
    environment = {
        **os.environ,
        **_building(folder),
        "CPP": f"{folder / 'cc'} -E -D__DEFINED_va_list",  # by which CPython recognises musl
        "CPPFLAGS": f"-I{installed}/include",
        "LDFLAGS": f"-L{installed}/lib",
    }
    for name, (configure, target) in _SOURCES.items():
        steps = [(*configure, f"--prefix={installed}"), ("make", "-j2", target)]
        if name == "libffi":
            steps.insert(0, ("autoreconf", "--install", "--force"))
        with (folder / f"{name}.log").open("w") as log:
            for step in steps:
                run(*step, cwd=sources[name], env=environment, stdout=log, stderr=log)


def _write_compilers(folder: Path) -> None:
    """Write the scripts cc and c++: programs name the loader that runs them."""
    packages = folder / "compiler"
    pins = Path("tools", "wheel-requirements.txt")
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", f"--target={packages}"),
        *("--constraint", pins, "ziglang"),
    )
    loader = unpack_packages(folder, "amd64", ("musl",)) / "lib" / "ld-musl-x86_64.so.1"
    for language in ("cc", "c++"):
        script = folder / language
        zig = packages / "ziglang" / "zig"
        script.write_text(_COMPILER.format(zig=zig, language=language, loader=loader))
        script.chmod(0o755)


def _building(folder: Path) -> dict[str, str]:
    """Return variables by which others compile for this Python, and find nothing of glibc's."""
    return {
        "CC": str(folder / "cc"),
        "CXX": str(folder / "c++"),
        "PKG_CONFIG_LIBDIR": str(folder / "installed" / "lib" / "pkgconfig"),
    }


MUSL = Platform(
    wheel="musllinux*_x86_64.whl",
    tools={
        "apt-get": "apt",
        "dpkg-deb": "dpkg",
        "make": "make",
        "perl": "perl",
        "autoreconf": "autoconf automake libtool libltdl-dev",
    },
    pip=_pip,
    python=_python,
)
