"""What a figure depends on: the processor, the system and the versions of the libraries."""

import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchmarks.libraries import LIBRARIES
from benchmarks.measure import available_cores

# The flags that a level of x86-64 adds to the level before it.
ISA_LEVELS = {
    "v2": {"cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"},
    "v3": {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}


def isa_level(flags: set[str]) -> str:
    """The x86-64 level that a processor with these flags reaches."""
    level = "v1"
    for name, needed in ISA_LEVELS.items():
        if not needed <= flags:
            break
        level = name
    return level


def machine_facts() -> dict[str, str | float]:
    """Processor, cores and system."""
    facts: dict[str, str | float] = {
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "cores": available_cores(),
    }
    if hasattr(os, "getloadavg"):
        facts["load before the run"] = round(os.getloadavg()[0], 2)
    processor = _processor()
    if processor:
        facts["processor"] = processor.get("model name", "unknown")
        facts["isa"] = f"x86-64-{isa_level(set(processor.get('flags', '').split()))}"
    return facts


def versions(names: Sequence[str]) -> dict[str, str]:
    """Versions of the packages behind some libraries, and of numpy."""
    modules = {LIBRARIES[name].package: LIBRARIES[name].module for name in names}
    modules["numpy"] = "numpy"
    return {package: _version(package, modules[package]) for package in sorted(modules)}


def _version(package: str, module: str) -> str:
    """The version of what a module comes from, which may have another name: xgboost-cpu."""
    sources = _packages().get(module, [])
    if package in sources:
        return importlib.metadata.version(package)
    if sources:
        return f"{importlib.metadata.version(sources[0])} ({sources[0]})"
    return "not installed, run from its sources"


@cache
def _packages() -> Mapping[str, list[str]]:
    """The names of the packages that each module comes from: reading all of them takes a while."""
    return importlib.metadata.packages_distributions()


def _processor() -> dict[str, str]:
    """The first processor of ``/proc/cpuinfo``, empty where there is none or it is not x86."""
    path = Path("/proc/cpuinfo")
    if not path.is_file() or platform.machine() not in ("x86_64", "AMD64"):
        return {}
    first = path.read_text().partition("\n\n")[0]
    fields = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in fields}
