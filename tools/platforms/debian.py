"""Packages and sources of a release of Debian, unpacked into folders: nothing is installed."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tools.platforms.commands import run

RELEASE = "trixie"  # whose Python, 3.13, takes wheels of the stable ABI
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def unpack_packages(folder: Path, architecture: str, names: Sequence[str]) -> Path:
    """Return a folder with these packages and what they depend on."""
    root = folder / "root"
    if not root.exists():
        apt = _apt(folder, "deb", architecture)
        run(*apt, "--yes", "--download-only", "--no-install-recommends", "install", *names)
        (root / "usr" / "lib").mkdir(parents=True)
        (root / "lib").symlink_to("usr/lib")
        for package in (folder / "apt" / "archives").glob("*.deb"):
            subprocess.run(("dpkg-deb", "--extract", package, root), check=True)
    return root


def unpack_sources(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the folders of these source packages, as their authors have published them."""
    sources = folder / "sources"
    if not sources.exists():
        downloads = folder / "apt"
        run(*_apt(folder, "deb-src", "amd64"), "source", "--download-only", *names, cwd=downloads)
        for name in names:
            (archive,) = downloads.glob(f"{name}_*.orig.tar.?z")
            with tarfile.open(archive) as file:
                file.extractall(sources / name, filter="data")
    return {name: next((sources / name).iterdir()) for name in names}


def _apt(folder: Path, kind: str, architecture: str) -> list[str]:
    """Return apt-get with lists, state and downloads of its own, up to date."""
    apt = folder / "apt"
    for part in ("lists/partial", "archives/partial"):
        (apt / part).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"{kind} [signed-by={_KEYS}] {_server()} {RELEASE} main\n")
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "Dir::State": apt,
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt,
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
    }
    command = ["apt-get", "--quiet", *(f"-o{name}={value}" for name, value in settings.items())]
    run(*command, "update")
    return command


def _server() -> str:
    """Return the server of the packages that this machine uses."""
    listed = ("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages")
    for line in subprocess.check_output(listed, text=True).splitlines():
        label, server = line.split()
        if label == "Debian":
            return server
    raise SystemExit("make platforms takes packages of Debian, and this machine uses none.")
