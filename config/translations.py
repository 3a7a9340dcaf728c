"""Compiles translation catalogs at start. They are stored as text (``.po``), and Django reads them compiled (``.mo``).

The compiler is Python, because a machine that only has Python has no ``msgfmt``.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import polib


def compile_stale(folders: Iterable[Path | str]) -> list[Path]:
    """Compile each catalog whose compiled form is missing or older than its source; return the files that were written."""
    compiled = []
    for folder in folders:
        for source in sorted(Path(folder).glob("*/LC_MESSAGES/*.po")):
            target = source.with_suffix(".mo")
            if _is_stale(source, target) and _compile(source, target):
                compiled.append(target)
    return compiled


def _is_stale(source: Path, target: Path) -> bool:
    """Say whether the times differ: the compiled file carries its source's time, and a checkout may go back in time."""
    try:
        return target.stat().st_mtime_ns != source.stat().st_mtime_ns
    except FileNotFoundError:
        return True


def _compile(source: Path, target: Path) -> bool:
    modified_at = source.stat().st_mtime_ns
    content = polib.pofile(str(source), encoding="utf-8").to_binary()
    try:
        # Several processes may start at once: each writes a file of its own, and the last rename wins.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError:  # a read-only installation: compiled when it was built, or English
        return False
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        os.utime(temporary, ns=(modified_at, modified_at))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return True
