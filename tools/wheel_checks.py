"""Check that wheels can be handed out, whatever platform they are for: what `make wheels` runs.

    python tools/wheel_checks.py WHEEL …

Checked: the size; that RECORD has the hashes of the files; that the list of what is compiled into
the modules came along; that no file names a folder of the machine that built it; that modules have
the stable ABI, and the machine that the wheel's tag promises; and that they need no more of the
system than that: libraries that every such system has or that lie beside the module, the symbols
of that glibc, that version of macOS, and a signature for Apple's processors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import lief
from wheel.wheelfile import WheelError, WheelFile

lief.disable_leak_warning()

MOST_BYTES = 5_000_000


@dataclass(frozen=True)
class System:
    """How modules end, and which libraries (in lower case) every such system has."""

    ending: str
    libraries: tuple[str, ...]


# By the beginning of a platform's tag. The C library of musl is known to its loader as libc.so.
SYSTEMS = {
    "manylinux": System(
        ".abi3.so",
        (
            "libc.so.6",
            "libm.so.6",
            "libpthread.so.0",
            "libdl.so.2",
            "librt.so.1",
            "ld-linux-*.so.*",
        ),
    ),
    "musllinux": System(".abi3.so", ("libc.so",)),
    "macosx": System(".abi3.so", ("/usr/lib/libsystem.b.dylib",)),
    "win": System(".pyd", ("kernel32.dll", "python3.dll", "api-ms-win-crt-*.dll")),
}
# By the end of the tag.
MACHINES = {"x86_64": "X86_64", "amd64": "X86_64", "aarch64": "ARM64", "arm64": "ARM64"}


def system_of(tag: str) -> System:
    """Return the operating system of a platform's tag."""
    return next(system for name, system in SYSTEMS.items() if tag.startswith(name))


def version_in(text: str) -> tuple[int, ...]:
    """Return the first two numbers in a text: 2.17 in GLIBC_2.17 and in manylinux_2_17_x86_64."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def looks_beside_itself(module: lief.Binary) -> bool:
    """Whether the loader looks for libraries in the folder of the module, and there alone."""
    runpath = isinstance(module, lief.ELF.Binary) and module.get(lief.ELF.DynamicEntry.TAG.RUNPATH)
    return bool(runpath) and runpath.paths == ["$ORIGIN"]


def own_name(module: lief.Binary) -> Iterator[str]:
    """Yield the name that a library for macOS has for others, listed among those that it needs."""
    if isinstance(module, lief.MachO.Binary):
        named = lief.MachO.LoadCommand.TYPE.ID_DYLIB
        yield from (library.name for library in module.libraries if library.command == named)


def elf_faults(module: lief.ELF.Binary, tag: str) -> Iterator[str]:
    """Say which symbols of glibc are newer than the tag allows."""
    for needed in module.symbols_version_requirement:
        for symbol in needed.get_auxiliary_symbols():
            if not tag.startswith("manylinux") or version_in(symbol.name) > version_in(tag):
                yield f"needs {symbol.name} of {needed.name}"


def macho_faults(module: lief.MachO.Binary, tag: str) -> Iterator[str]:
    """Say what keeps a module from running on the macOS of the tag."""
    oldest = tuple(module.build_version.minos[:2])
    if oldest > version_in(tag):
        yield f"needs macOS {oldest[0]}.{oldest[1]}"
    if tag.endswith("_arm64") and not module.has_code_signature:
        yield "has no signature, without which Apple's processors load nothing"


def module_faults(content: bytes, tag: str, beside: Sequence[str]) -> Iterator[str]:
    """Say why a module does not run wherever a platform's tag promises it.

    Beside it are files of these names.
    """
    module = lief.parse(content)
    machine = module.abstract.header.architecture.name
    if not tag.endswith(tuple(name for name, found in MACHINES.items() if found == machine)):
        yield f"is for {machine}"
    own = beside if looks_beside_itself(module) else own_name(module)
    for library in set(module.abstract.libraries).difference(own):
        if not any(fnmatch(library.lower(), allowed) for allowed in system_of(tag).libraries):
            yield f"needs {library}"
    if isinstance(module, lief.ELF.Binary):
        yield from elf_faults(module, tag)
    if isinstance(module, lief.MachO.Binary):
        yield from macho_faults(module, tag)


def faults(path: Path, private: Iterable[Path]) -> Iterator[str]:
    """Say what is wrong with a wheel; folders of this machine are private."""
    *_, abi, tag = path.stem.split("-")
    if path.stat().st_size > MOST_BYTES:
        yield f"has {path.stat().st_size:,} bytes; at most {MOST_BYTES:,} are allowed"
    if abi != "abi3":
        yield f"does not have the stable ABI but {abi}"
    with WheelFile(path) as wheel:
        names = [PurePosixPath(name) for name in wheel.namelist()]
        if not any(name.match("*.dist-info/sboms/*.cdx.json") for name in names):
            yield "does not list what is compiled into it"
        for name in names:
            content = wheel.read(str(name))  # compared with RECORD
            for folder in private:
                if str(folder).encode() in content:
                    yield f"{name} names {folder}"
            if name.suffix in (".so", ".pyd", ".dylib", ".dll"):
                if not name.name.endswith(system_of(tag).ending):
                    yield f"{name} should end in {system_of(tag).ending}"
                beside = [other.name for other in names if other.parent == name.parent]
                yield from (f"{name} {fault}" for fault in module_faults(content, tag, beside))


def check(path: Path) -> None:
    """Print what is wrong with a wheel and exit, or print its size."""
    try:
        found = list(faults(path, private=(Path.cwd(), Path.home(), Path(sys.prefix))))
    except WheelError as error:
        found = [str(error)]
    if found:
        raise SystemExit("\n".join([f"{path.name} cannot be handed out:", *found]))
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB, as its tag promises")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        check(Path(argument))
