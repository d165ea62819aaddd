"""Run fuzz targets: `python -m fuzz xgboost_json own_json --seconds 60`, all without a name.

Inputs that reached something new stay in build/fuzz and are where the next run begins; what fails
is kept there too, and its path printed. `--input FILE` runs a target with one file.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = Path("build", "fuzz")
# In megabytes and seconds: what models of a few kilobytes never need, on a busy machine either.
LIMITS = ("-rss_limit_mb=4096", "-timeout=60")


def names() -> list[str]:
    """Return the names of all targets."""
    source = (HERE / "targets.py").read_text(encoding="utf-8")
    return re.findall(r"^@target\ndef (\w+)", source, re.MULTILINE)


def fuzz(name: str, seconds: int) -> bool:
    """Run a target; return whether it found something."""
    corpus, findings = FOLDER / "corpus" / name, FOLDER / "findings" / name
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    known = set(findings.iterdir())
    seeds = FOLDER / "seeds"
    command = [sys.executable, HERE / "targets.py", name, corpus, seeds / name, *LIMITS]
    command += [f"-dict={seeds / name}.dict", f"-artifact_prefix={findings}/"]
    command += [f"-max_total_time={seconds}", "-print_final_stats=1"]
    log = FOLDER / f"{name}.log"
    with log.open("w") as output:
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode
    text = log.read_text(errors="replace")
    runs = re.findall(r"number_of_executed_units: (\d+)", text)
    covered = re.findall(r" cov: (\d+) ", text)
    n_runs, n_branches = (int(found[-1]) if found else 0 for found in (runs, covered))
    print(f"{name}: {n_runs:,} inputs, {n_branches:,} branches", flush=True)
    new = sorted(set(findings.iterdir()) - known)
    for path in new:
        print(f"  found: {path}")
    if status and not new:
        print(f"  ended with {status}: see {log}")
    return status != 0


def main() -> None:
    """Make the seeds, then run the targets one after another."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Fuzz the readers.")
    parser.add_argument("targets", nargs="*", help=", ".join(names()))
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--input", help="run the target with this file alone")
    parser.add_argument("--list", action="store_true", help="print the names of all targets")
    arguments = parser.parse_args()
    if arguments.list:
        print(*names(), sep="\n")
        return
    targets = arguments.targets or names()
    if unknown := set(targets) - set(names()):
        parser.error(f"there is no target {', '.join(unknown)}")
    if arguments.input:
        command = [sys.executable, HERE / "targets.py", *targets[:1], arguments.input]
        raise SystemExit(subprocess.run(command).returncode)
    subprocess.run([sys.executable, HERE / "seeds.py", FOLDER / "seeds"], check=True)
    found = [name for name in targets if fuzz(name, arguments.seconds)]
    if found:
        raise SystemExit(f"Found something: {', '.join(found)}")


if __name__ == "__main__":
    main()
