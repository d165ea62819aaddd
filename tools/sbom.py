"""Write what is compiled into the modules as a software bill of materials: CycloneDX, in JSON.

    python tools/sbom.py <output> <module> <version of Hedgerow> <compiler and its flags>...

CMake runs it when the module is linked, with the Python whose nanobind was compiled, and installs
the output into the wheel's `.dist-info/sboms` (PEP 770). Libraries of the compiler are listed if
they are linked statically: if the module does not name the shared library. Nothing else decides
about the output, so the same build gives the same bytes. Licences that must come along with a
binary are quoted.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import nanobind

GCC_LICENCE = "GPL-3.0-or-later WITH GCC-exception-3.1"
LLVM_LICENCE = "Apache-2.0 WITH LLVM-exception"
PROBE = "#include <version>\n"

Component = dict[str, Any]


def component(name: str, version: str, licence: str, purl: str, text: str = "") -> Component:
    """Return an entry of the list; an empty version is left out, and so is an empty text."""
    quoted = {"id": licence, "text": {"content": text}}
    full = f"{purl}@{version}" if version else purl
    entry: Component = {
        "type": "library",
        "bom-ref": full,
        "name": name,
        "version": version,
        "licenses": [{"license": quoted} if text else {"expression": licence}],
        "purl": full,
    }
    return {field: value for field, value in entry.items() if value}


def of_nanobind() -> Component:
    """Return the bindings' library."""
    package = metadata.distribution("nanobind")
    licence = next(path for path in package.files or [] if path.name == "LICENSE")
    text = licence.read_text(encoding="utf-8")
    return component("nanobind", package.version, "BSD-3-Clause", "pkg:pypi/nanobind", text)


def of_robin_map() -> Component:
    """Return the hash map that nanobind includes; a header has its version and licence."""
    folder = Path(nanobind.include_dir()).parent / "ext" / "robin_map" / "include" / "tsl"
    header = (folder / "robin_growth_policy.h").read_text(encoding="utf-8")
    version = ".".join(re.findall(r"#define TSL_RH_VERSION_\w+ (\d+)", header))
    text = re.sub(r"^ \* ?", "", header[4 : header.index("*/")], flags=re.MULTILINE)
    return component("robin-map", version, "MIT", "pkg:github/tessil/robin-map", text.strip())


def macros(compiler: Sequence[str]) -> dict[str, str]:
    """Return the macros that the compiler and its C++ library define."""
    command = [*compiler, "-std=c++20", "-dM", "-E", "-x", "c++", "-"]
    printed = subprocess.run(command, input=PROBE, check=True, capture_output=True, text=True)
    return dict(re.findall(r"^#define (\w+) (.*)$", printed.stdout, re.MULTILINE))


def runtime(module: bytes, compiler: Sequence[str]) -> Iterator[Component]:
    """Yield the libraries of the compiler that are in the module."""
    defined = macros(compiler)
    if "_LIBCPP_VERSION" in defined:
        number = int(defined["_LIBCPP_VERSION"])  # 190107 is 19.1.7
        version = f"{number // 10_000}.{number // 100 % 100}.{number % 100}"
        yield component("compiler-rt", version, LLVM_LICENCE, "pkg:generic/compiler-rt")
        if not re.search(rb"libc\+\+[.\w]*\.(so|dylib|dll)", module):
            for name in ("libc++", "libc++abi", "libunwind"):
                yield component(name, version, LLVM_LICENCE, f"pkg:generic/{name}")
        return
    version = re.sub(r'^"|[ "].*$', "", defined["__VERSION__"])
    if "__clang__" in defined:
        version = defined["_GLIBCXX_RELEASE"]
    yield component("libgcc", version, GCC_LICENCE, "pkg:generic/libgcc")
    # Compilers for old systems link what the systems' own library lacks.
    path = [*compiler, "-print-file-name=libstdc++_nonshared.a"]
    rest = subprocess.run(path, check=True, capture_output=True, text=True).stdout.strip()
    if Path(rest).is_absolute() or not re.search(rb"libstdc\+\+[-.\d]*(so|dylib|dll)", module):
        yield component("libstdc++", version, GCC_LICENCE, "pkg:generic/libstdc%2B%2B")


def bill(module: bytes, version: str, compiler: Sequence[str]) -> dict[str, Any]:
    """Return the document."""
    own = component("hedgerow", version, "BSD-3-Clause", "pkg:pypi/hedgerow")
    parts = [of_nanobind(), of_robin_map(), *runtime(module, compiler)]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": parts,
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def main() -> None:
    """Write the document."""
    output, module, version, *compiler = sys.argv[1:]
    document = bill(Path(module).read_bytes(), version, compiler)
    Path(output).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
