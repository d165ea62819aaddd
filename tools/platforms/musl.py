"""Linux with the C library musl, on x86-64: CPython, compiled from Debian's sources.

Python's foundation publishes none, and Debian's are for glibc. Beside Python, zlib and libffi are
compiled: without them there are no archives and no ctypes, which scikit-learn imports.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from tools.platforms.commands import Platform, Python, on_linux, run
from tools.platforms.debian import unpack_sources

# Debian's compiler for musl knows no headers of the kernel, and says that it is one for glibc.
_COMPILER = """#!/bin/sh
[ "$*" = --print-multiarch ] && exec echo x86_64-linux-musl
exec musl-gcc -fPIC -idirafter {headers} "$@"
"""
_SOURCES = ("python3.13", "libffi", "zlib")


def _python(folder: Path, search: Sequence[Path]) -> Python:
    installed = folder / "installed"
    python = installed / "bin" / "python3.13"
    if not python.exists():
        _compile(folder, installed)
    return on_linux((python,), folder, search)


def _compile(folder: Path, installed: Path) -> None:
    sources = unpack_sources(folder, _SOURCES)
    environment = os.environ | {
        "CC": str(_compiler(folder)),
        "CPPFLAGS": f"-I{installed}/include",
        "LDFLAGS": f"-L{installed}/lib",
        "PKG_CONFIG_LIBDIR": f"{installed}/lib/pkgconfig",
    }
    host = "--build=x86_64-linux-musl"
    static = (host, "--disable-shared", "--disable-docs")
    small = (host, "--disable-test-modules", "--without-ensurepip")
    options = {"python3.13": small, "libffi": static, "zlib": ("--static",)}

    def step(*command: str | Path, name: str) -> None:
        with (folder / f"{name}.log").open("a") as log:
            run(*command, cwd=sources[name], env=environment, stdout=log, stderr=log)

    step("autoreconf", "--install", "--force", name="libffi")
    for name in reversed(_SOURCES):
        step("./configure", f"--prefix={installed}", *options[name], name=name)
        step("make", "-j2", "install", name=name)


def _compiler(folder: Path) -> Path:
    headers = folder / "headers"
    headers.mkdir(exist_ok=True)
    machine = f"{sysconfig.get_config_var('MULTIARCH')}/asm"
    for name, where in (("linux", "linux"), ("asm-generic", "asm-generic"), ("asm", machine)):
        link = headers / name
        if not link.exists():
            link.symlink_to(Path("/usr/include", where))
    compiler = folder / "cc"
    compiler.write_text(_COMPILER.format(headers=headers))
    compiler.chmod(0o755)
    return compiler


MUSL = Platform(
    wheel="musllinux*_x86_64.whl",
    tags=("musllinux_1_2_x86_64", "musllinux_1_1_x86_64"),
    tools={
        "apt-get": "apt",
        "musl-gcc": "musl-tools",
        "make": "make",
        "autoreconf": "autoconf automake libtool libltdl-dev",
    },
    python=_python,
)
