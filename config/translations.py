"""Compiles translation catalogs at start. They are stored as text (``.po``), and Django reads them compiled (``.mo``).

The compiler is Python, because a machine that only has Python has no ``msgfmt``.
"""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import polib


def compile_outdated(folders: Iterable[Path | str]) -> list[Path]:
    """Compile each catalog whose compiled file is missing or outdated, and return the paths of the written files."""
    compiled = []
    for folder in folders:
        for source in sorted(Path(folder).glob("*/LC_MESSAGES/*.po")):
            target = source.with_suffix(".mo")
            if _is_outdated(source, target) and _compile(source, target):
                compiled.append(target)
    return compiled


def _is_outdated(source: Path, target: Path) -> bool:
    """Return whether the modification times differ. ``_compile`` copies the source's time, which may be set back later."""
    try:
        return target.stat().st_mtime_ns != source.stat().st_mtime_ns
    except FileNotFoundError:
        return True


def _compile(source: Path, target: Path) -> bool:
    """Compile a catalog and return True, or return False if the folder is read-only."""
    modified_at = source.stat().st_mtime_ns
    content = polib.pofile(str(source), encoding="utf-8").to_binary()
    try:
        # Several processes may start at once: each writes a separate file, and the last rename wins.
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except (
        OSError
    ):  # the catalogs were compiled when the installation was built, or pages are in English
        return False
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        os.utime(temporary, ns=(modified_at, modified_at))
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return True
