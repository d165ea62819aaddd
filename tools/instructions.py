"""Instructions of fits at lower levels and on aarch64, where time under emulation says nothing.

    make arm
    python -m tools.instructions

A plugin of qemu counts the instructions of the library's own modules in one fit on one thread, for
x86-64-v2, x86-64-v3 and aarch64. An instruction of v3 on 256 bits is two of 128 bits, so that the
last column compares aarch64 with v3's count and that of its 256-bit instructions once more. The
functions that take most follow for each.

It needs what `make arm` needs and has built, and a build of all levels (`make test` makes one).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tools import arm

FITS = ((10_000, 20), (100_000, 28))
MACHINES = ("v2", "v3", "aarch64")
HOTTEST = 5
SYMBOL = re.compile(r"^([0-9a-f]+) ([0-9a-f]+) [tTwWuV] (.+)$", re.MULTILINE)
INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t.*%ymm", re.MULTILINE)


class Count(NamedTuple):
    """Instructions of a fit: all, those on 256 bits, and by function."""

    all: int
    wide: int
    functions: Counter[str]


def fit(rows: int, columns: int, maps: Path) -> None:
    """Fit once, and write where the modules lie in memory."""
    import hedgerow as hr
    from benchmarks.generated import binary_table

    X, y = binary_table(rows, columns, 0)
    settings = {"n_estimators": 100, "max_leaves": 31, "learning_rate": 0.1}
    hr.GradientBoostingClassifier(**settings, n_jobs=1).fit(X, y)
    maps.write_text(Path("/proc/self/maps").read_text(encoding="utf-8"), encoding="utf-8")


def count(machine: str, rows: int, columns: int, folder: Path) -> Count:
    """Fit under qemu, and add up what each function of the modules took."""
    blocks, maps = folder / "blocks", folder / "maps"
    plugin = ["-plugin", f"{folder / 'count_blocks.so'},out={blocks}"]
    arguments = ["-m", "tools.instructions", "--fit", str(rows), str(columns), str(maps)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    if machine == "aarch64":
        paths = (arm.ARM / "src", arm.PACKAGES, Path.cwd())
        environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        emulator = ["qemu-aarch64", "-L", str(arm.SYSROOT), *plugin, str(arm.fetch_python())]
    else:
        environment["HEDGEROW_ISA"] = machine
        emulator = ["qemu-x86_64", "-cpu", "max", *plugin, sys.executable]
    subprocess.run([*emulator, *arguments], env=environment, check=True)
    return add_up(blocks, maps, "aarch64-linux-gnu-" if machine == "aarch64" else "")


def add_up(blocks: Path, maps: Path, tools: str) -> Count:
    """Add up the instructions of the blocks that lie in a module of the library."""
    starts: dict[str, int] = {}
    for line in maps.read_text(encoding="utf-8").splitlines():
        if "/hedgerow/_native/" in line:
            starts.setdefault(line.split()[-1], int(line.split("-")[0], 16))
    modules = [(start, Module(with_symbols(path), tools)) for path, start in starts.items()]
    total, wide, functions = 0, 0, Counter[str]()
    for line in blocks.read_text(encoding="utf-8").splitlines():
        address, length, entries = int(line.split()[0], 16), *map(int, line.split()[1:])
        for start, module in modules:
            if start <= address < start + module.end:
                total += length * entries
                wide += module.wide_among(address - start, length) * entries
                functions[module.function(address - start)] += length * entries
    return Count(total, wide, functions)


def with_symbols(path: str) -> str:
    """Return the module as it was linked: the same code, from which no symbols are stripped."""
    return str(next(iter(Path("build").glob(f"*/{Path(path).name}")), path))


class Module:
    """The functions of a shared object, and its instructions on 256 bits."""

    def __init__(self, path: str, tools: str) -> None:
        names = _output(f"{tools}nm", "-CS", "--defined-only", path)
        self.symbols = sorted(
            (int(a, 16), int(n, 16), name) for a, n, name in SYMBOL.findall(names)
        )
        self.starts = [start for start, _, _ in self.symbols]
        self.end = max(start + size for start, size, _ in self.symbols)
        code = "" if tools else _output("objdump", "-d", "--no-show-raw-insn", path)
        self.instructions = [int(a, 16) for a in re.findall(r"^ +([0-9a-f]+):", code, re.MULTILINE)]
        self.wide = {int(address, 16) for address in INSTRUCTION.findall(code)}

    def wide_among(self, address: int, length: int) -> int:
        """How many of the instructions from an address on use registers of 256 bits."""
        first = bisect_right(self.instructions, address - 1)
        return sum(each in self.wide for each in self.instructions[first : first + length])

    def function(self, address: int) -> str:
        """Name the function that an address lies in."""
        i = bisect_right(self.starts, address) - 1
        return self.symbols[i][2] if i >= 0 else "?"


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Count, and print two tables in Markdown."""
    print("| fit | v2 | v3 | of these on 256 bits | aarch64 | aarch64 / v3 in 128 bits |")
    print("|---|---:|---:|---:|---:|---:|")
    hottest = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = Path(__file__).with_name("count_blocks.c")
        compiler = ["cc", "-O2", "-shared", "-fPIC", str(source)]
        subprocess.run([*compiler, "-o", str(folder / "count_blocks.so")], check=True)
        for rows, columns in FITS:
            counts = {each: count(each, rows, columns, folder) for each in MACHINES}
            v2, v3, aarch64 = counts.values()
            millions = [f"{n / 1e6:,.0f}" for n in (v2.all, v3.all, v3.wide, aarch64.all)]
            ratio = f"{aarch64.all / (v3.all + v3.wide):.2f}"
            print("|", " | ".join([f"{rows:,} × {columns}", *millions, ratio]), "|", flush=True)
            hottest += [
                f"| {rows:,} × {columns} | {machine} | {n / counted.all:.0%} | `{function}` |"
                for machine, counted in counts.items()
                for function, n in counted.functions.most_common(HOTTEST)
            ]
    print("\nMillions of instructions.\n\n| fit | machine | share | function |\n|---|---|---:|---|")
    print("\n".join(hottest))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Instructions of fits, counted under qemu.")
    parser.add_argument("--fit", nargs=3, metavar=("ROWS", "COLUMNS", "FILE"), help="fit once")
    options = parser.parse_args()
    if options.fit:
        fit(int(options.fit[0]), int(options.fit[1]), Path(options.fit[2]))
    else:
        main()
