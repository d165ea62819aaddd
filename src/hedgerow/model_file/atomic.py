"""Writing a file so that there is always a whole one: the old or the new, never a part."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path


def write_atomically(path: str, data: bytes) -> None:
    """Replace the file at `path`, or leave everything as it was and raise OSError.

    The bytes go to a temporary file in the same folder and reach the disk before that takes the
    name; so even a crash of the machine leaves one whole file. A symbolic link is followed.
    """
    target = check_target(path)
    temporary = target.with_name(f".hedgerow-{secrets.token_hex(8)}.tmp")
    try:
        _write(temporary, data)
        temporary.replace(target)
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


def _write(path: Path, data: bytes) -> None:
    # Mode 0666 less the umask: what any new file gets.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


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
