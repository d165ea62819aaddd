"""Saves that do not end: cut files, full disks, and processes that are killed while they write."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import resource
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from hedgerow._model_file import atomic, load
from hedgerow._model_file.container import unpack
from hedgerow._model_file.contents import read_estimator
from hedgerow.exceptions import ModelFileError
from soak.model_files import FIXTURES, in_children
from soak.outcome import Outcome

GOAL = "interrupted saves (any byte, full disk, kill): the old or the new file is complete"
KILLS = 1000
FULL_DISKS = 200
BIG = 2_000_000  # bytes of the files whose writers are killed

_CLONE_NEWNS, _MS_REC, _MS_PRIVATE = 0x20000, 0x4000, 1 << 18


def run(share: float) -> Outcome:
    """Cut, fill and kill."""
    failures: list[str] = []
    n_cut = _cut_files(share, failures)
    n_full, is_real = _fill_disks(max(4, round(FULL_DISKS * share)), failures)
    n_kills, n_left = _kill(max(4, round(KILLS * share)), failures)
    disk = "a full file system" if is_real else "a limit on the size of files"
    summary = (
        f"{n_cut:,} truncated files rejected; {n_full} writes to {disk}; {n_kills:,} kills, "
        f"of which {n_left} left a temporary file that the next save removed"
    )
    return Outcome(summary, tuple(failures))


def _cut_files(share: float, failures: list[str]) -> int:
    """Load files of every kind, cut after every byte; at a smaller share, after every n-th."""
    step = max(1, round(1 / share)) if share else 997
    n_cut = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cut"
        for file in sorted(FIXTURES.glob("*.hedgerow")):
            data = file.read_bytes()
            for length in range(0, len(data), step):
                path.write_bytes(data[:length])
                n_cut += 1
                try:
                    load(path)
                    failures.append(f"{file.name} cut after {length} bytes was loaded")
                except ModelFileError:
                    pass
    return n_cut


def _fill_disks(n_writes: int, failures: list[str]) -> tuple[int, bool]:
    """Write to a disk that fills up; return how often, and whether it was a real one."""
    (found,) = in_children([lambda: _write_to_full_disks(n_writes)], 1)
    if isinstance(found, str):
        failures.append(f"full disks: {found}")
        return 0, False
    failures += found["failures"]
    return n_writes, found["is_real"]


def _write_to_full_disks(n_writes: int) -> dict[str, Any]:
    failures = []
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        is_real = _mount_small_disk(folder)
        if not is_real:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        path = Path(folder) / "model"
        old = next(FIXTURES.glob("SVC.hedgerow")).read_bytes()
        path.write_bytes(old)
        for number in range(n_writes):
            if not is_real:
                limit = rng.randrange(1, BIG)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            if number % 2:
                atomic._open_unnamed = lambda _folder: None
            try:
                atomic.write_atomically(str(path), bytes(BIG))
                failures.append(f"write {number} onto a full disk ended well")
            except OSError:
                pass
            if path.read_bytes() != old or len(list(path.parent.iterdir())) != 1:
                failures.append(f"write {number} onto a full disk left something else behind")
        if is_real:
            _libc().umount2(folder.encode(), 2)
    return {"is_real": is_real, "failures": failures}


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _mount_small_disk(folder: str) -> bool:
    """Mount a file system of a megabyte that this process alone sees; False if it may not."""
    try:
        libc = _libc()
        alone = libc.unshare(_CLONE_NEWNS) == 0
        private = alone and libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None) == 0
        return bool(private and libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"size=1m") == 0)
    except (OSError, AttributeError):
        return False


def _kill(n_kills: int, failures: list[str]) -> tuple[int, int]:
    """Kill processes that save; return how many, and how many left a temporary file behind."""
    rng = random.Random(2)
    model = read_estimator(*unpack((FIXTURES / "SVC.hedgerow").read_bytes()))
    others = [bytes([number]) * BIG for number in (1, 2)]
    n_left = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        small = path.read_bytes()
        for number in range(n_kills):
            _write_until_killed(
                path, model, others, unnamed=number % 2 == 0, seconds=rng.random() * 0.03
            )
            found = path.read_bytes()
            if found != small and found not in others:
                failures.append(
                    f"kill {number} left a file of {len(found)} bytes, neither old nor new"
                )
            n_left += len(list(path.parent.iterdir())) > 1
            model.save(path)
            if [file.name for file in path.parent.iterdir()] != ["model"]:
                failures.append(f"after kill {number} a save left something else in the folder")
            if path.read_bytes() != small:
                failures.append(f"after kill {number} a save wrote something else")
    return n_kills, n_left


def _write_until_killed(
    path: Path, model: Any, others: list[bytes], *, unnamed: bool, seconds: float
) -> None:
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            if not unnamed:
                atomic._open_unnamed = lambda _folder: None
            while True:
                for data in others:
                    atomic.write_atomically(str(path), data)
                model.save(path)
        os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
