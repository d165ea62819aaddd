"""Writing a file so that there is always a whole one: the old or the new, never a part."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be deleted anyway
    fcntl = None  # type: ignore[assignment]


def write_atomically(path: str, data: bytes) -> None:
    """Replace the file at `path`, or leave everything as it was and raise OSError.

    The bytes go to a temporary file in the same folder and reach the disk before that takes the
    name; so even a crash of the machine leaves one whole file. A symbolic link is followed.
    """
    target = check_target(path)
    temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.tmp")
    try:
        _write_and_rename(temporary, data, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):  # of which the user shall read the name they gave
            raise OSError(error.errno, error.strerror, path) from error
        raise
    _sync_folder(target.parent)


def check_target(path: str) -> Path:
    """Return the file that `path` means, or raise OSError if no file could be written there."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "The folder to save into does not exist", str(target.parent)
        )
    if target.is_dir() or not os.path.basename(path):  # noqa: PTH119  pathlib drops a final slash
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        raise OSError(errno.EINVAL, "Only a regular file can be replaced", path)
    return target


def _write_and_rename(temporary: Path, data: bytes, target: Path) -> None:
    # Mode 0666 less the umask: what any new file gets.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
        with contextlib.suppress(OSError):  # not every file system has locks
            _lock(file)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        if fcntl is None:  # where an open file cannot be renamed either
            file.close()
        temporary.replace(target)


def clear_abandoned(path: str) -> None:
    """Delete temporary files of this target whose writers were killed."""
    target = Path(os.path.realpath(path))
    for left in target.parent.glob(f"{_prefix(target)}*.tmp"):
        # What is still empty may belong to a writer that is about to lock it.
        with contextlib.suppress(OSError), left.open("r+b") as file:
            if os.fstat(file.fileno()).st_size:
                _lock(file)
                if fcntl is None:
                    file.close()
                left.unlink()


def _prefix(target: Path) -> str:
    """Return how names of temporary files for this target begin; a name of any length has one."""
    of_name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    return f".hedgerow-{of_name}-"


def _lock(file: IO[bytes]) -> None:
    """Mark a file as that of a living process; OSError if it is another's."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk, where folders can be synchronised."""
    if os.name == "nt":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder may be written to without being read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno == errno.EIO:
            raise
    finally:
        os.close(descriptor)
