"""Atomic replacement of a file: at any time there is a complete one, the old or the new.

On Linux the new file has no name until it is complete, so that it vanishes if its process ends.
Elsewhere, and for the moment before it is renamed, it is a temporary file that its writer has
locked. A temporary file that is not locked belongs to a process that was killed, and the next write
to the same target deletes it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path
from typing import IO, Any

from hedgerow._files import replace_file
from hedgerow.exceptions import ParameterError

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be deleted anyway
    fcntl = None  # type: ignore[assignment]

_MODE = 0o666  # minus the umask, as for any new file
_PROCESS_FILES = Path("/proc/self/fd")


def write_atomically(path: str, data: bytes) -> None:
    """Replace the file at `path`, or raise OSError and change nothing.

    The bytes are written to a temporary file in the same folder and are on disk before it is
    renamed, so that even a system crash leaves a complete file. A symbolic link is followed.
    """
    target = check_target(path)
    clear_abandoned(path)  # first, because they may fill the disk
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


def file_name(path: Any) -> str:
    """Return a path as a str, if it can be the name of a file."""
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"path must be a file name, not a {type(path).__name__}.")
    name = os.fsdecode(path)
    if "\0" in name:
        raise ParameterError(
            f"path={path!r} is not allowed; file names cannot contain a null byte."
        )
    return name


def check_target(path: str) -> Path:
    """Return the file at `path`, with links resolved; raise OSError if it cannot be a file."""
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
    """Write a file that has no name until it is complete; False if that is not supported."""
    descriptor = _open_unnamed(target.parent)
    if descriptor is None:
        return False
    with os.fdopen(descriptor, "wb") as file:
        _to_disk(file, data)
        try:
            # A link cannot replace a file, so it is made next to the target first. Python follows
            # the source only if there is a descriptor, which an absolute path ignores.
            source = _PROCESS_FILES / str(descriptor)
            os.link(source, temporary, src_dir_fd=descriptor, follow_symlinks=True)
        except OSError:
            return False
        replace_file(temporary, target)
    return True


def _write_named(temporary: Path, data: bytes, target: Path) -> None:
    with os.fdopen(_open_named(temporary), "wb") as file:
        _to_disk(file, data)
        if fcntl is None:  # on Windows, an open file cannot be renamed
            file.close()
        replace_file(temporary, target)


def _to_disk(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _open_unnamed(folder: Path) -> int | None:
    """Open and lock a file without a name; None if that is not supported."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not _PROCESS_FILES.is_dir():
        return None
    try:
        descriptor = os.open(folder, flag | os.O_WRONLY, _MODE)
    except OSError:  # not every file system supports them; a named file reports other errors
        return None
    try:
        _lock(descriptor)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _open_named(temporary: Path) -> int:
    """Open a new temporary file and lock it, so that it does not seem abandoned."""
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
    while True:
        descriptor = os.open(temporary, flags | os.O_EXCL, _MODE)
        try:
            _lock(descriptor, wait=True)
        except OSError:  # not every file system supports locks; then no file seems abandoned
            return descriptor
        if temporary.exists():
            return descriptor
        os.close(descriptor)  # another process deleted it before it was locked


def clear_abandoned(path: str) -> None:
    """Delete temporary files of this target whose writers were killed."""
    target = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        for temporary in target.parent.glob(f"{_prefix(target)}*.tmp"):
            with contextlib.suppress(OSError), temporary.open("r+b") as file:
                _lock(file.fileno())
                if fcntl is None:
                    file.close()
                temporary.unlink()


def _prefix(target: Path) -> str:
    """Return the prefix of temporary files for this target; a hash, since names may be long."""
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    return f".hedgerow-{digest}-"


def _lock(descriptor: int, *, wait: bool = False) -> None:
    """Lock a file; raise OSError if another process holds the lock."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _sync_folder(folder: Path) -> None:
    """Write the new name to disk, if the system can synchronise folders."""
    if os.name == "nt":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder may be writable, but not readable
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno == errno.EIO:
            raise
    finally:
        os.close(descriptor)
