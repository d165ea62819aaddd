"""Writing a file so that there is always a whole one: the old or the new, never a part.

What is not whole yet has no name where the system can do that (Linux), so that it vanishes with its
process. Elsewhere, and for the moment before it takes the name of the target, it is a temporary
file that its writer has locked: one whose lock can be had is of a process that was killed, and the
next write to the same target deletes it.
"""

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

_MODE = 0o666  # less the umask: what any new file gets
_PROCESS_FILES = Path("/proc/self/fd")


def write_atomically(path: str, data: bytes) -> None:
    """Replace the file at `path`, or leave everything as it was and raise OSError.

    The bytes go to a temporary file in the same folder and reach the disk before that takes the
    name; so even a crash of the machine leaves one whole file. A symbolic link is followed.
    """
    target = check_target(path)
    clear_abandoned(path)  # first, for they may fill the disk
    temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.tmp")
    try:
        _write_and_rename(temporary, data, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):  # report the file name that the user passed
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
    if not _write_unnamed(temporary, data, target):
        _write_named(temporary, data, target)


def _write_unnamed(temporary: Path, data: bytes, target: Path) -> bool:
    """Write a file that has a name only when it is whole; False if the system has no such files."""
    descriptor = _open_unnamed(target.parent)
    if descriptor is None:
        return False
    with os.fdopen(descriptor, "wb") as file:
        _to_disk(file, data)
        try:
            # A link replaces no other file, so it is one beside the target first. Only with a
            # descriptor, which an absolute path makes no use of, does Python follow the source.
            source = _PROCESS_FILES / str(descriptor)
            os.link(source, temporary, src_dir_fd=descriptor, follow_symlinks=True)
        except OSError:
            return False
        temporary.replace(target)
    return True


def _write_named(temporary: Path, data: bytes, target: Path) -> None:
    with os.fdopen(_open_named(temporary), "wb") as file:
        _to_disk(file, data)
        if fcntl is None:  # where an open file cannot be renamed either
            file.close()
        temporary.replace(target)


def _to_disk(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _open_unnamed(folder: Path) -> int | None:
    """Open a file without a name, locked; None where there are none or they cannot be named."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not _PROCESS_FILES.is_dir():
        return None
    try:
        descriptor = os.open(folder, flag | os.O_WRONLY, _MODE)
    except OSError:  # not every file system has them; what else is wrong, a named one meets too
        return None
    try:
        _lock(descriptor)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _open_named(temporary: Path) -> int:
    """Open a new temporary file and lock it, before anyone may think that it is abandoned."""
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
    while True:
        descriptor = os.open(temporary, flags | os.O_EXCL, _MODE)
        try:
            _lock(descriptor, wait=True)
        except OSError:  # not every file system has locks; there, nothing is ever abandoned
            return descriptor
        if temporary.exists():
            return descriptor
        os.close(descriptor)  # another was faster than the lock, and deleted it


def clear_abandoned(path: str) -> None:
    """Delete temporary files of this target whose writers were killed."""
    target = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        for left in target.parent.glob(f"{_prefix(target)}*.tmp"):
            with contextlib.suppress(OSError), left.open("r+b") as file:
                _lock(file.fileno())
                if fcntl is None:
                    file.close()
                left.unlink()


def _prefix(target: Path) -> str:
    """Return how names of temporary files for this target begin; a name of any length has one."""
    of_name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    return f".hedgerow-{of_name}-"


def _lock(descriptor: int, *, wait: bool = False) -> None:
    """Mark a file as that of a living process; OSError if it is another's."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


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
