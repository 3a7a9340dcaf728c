"""Find the tests of what differs from a commit, by the tree of the tests, which mirrors that of the product."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.phases.plan import ROOT


# Where the tests of a folder stand whose tests don't stand under the same path.
ELSEWHERE: Final = (
    ("workflows/engine", "tests/engine"),
    ("templates", "tests/architecture"),
    ("static", "tests/architecture"),
)


def find_changed_files(commit: str) -> list[str]:
    """Return the files that differ from a commit or are new, as paths from the root."""
    differing = _ask_git("diff", "--name-only", "--diff-filter=d", commit)
    return [*differing, *_ask_git("ls-files", "--others", "--exclude-standard")]


def find_tests(files: Iterable[str], root: Path = ROOT) -> list[str]:
    """Return the test modules and folders for changed files, without those that lie in another of them."""
    places = sorted({place for file in files if (place := _find_test(Path(file), root))})
    return [
        place.as_posix() for place in places if not any(other in place.parents for other in places)
    ]


def _find_test(file: Path, root: Path) -> Path | None:
    if file.parts[0] == "tests":
        if file.name.startswith("test_"):
            return file
        # What several tests share: the folder of those that may use it.
        return file.parent if len(file.parts) > 2 and "support" not in file.parts else None
    module = _mirror(file)
    if module is None:
        return None
    candidate = module.with_name(f"test_{module.stem}.py")
    if (root / candidate).exists():
        return candidate
    folder = module.parent
    while not (root / folder).is_dir():
        folder = folder.parent
    return folder if folder != Path("tests") else None


def _mirror(file: Path) -> Path | None:
    for product, tests in ELSEWHERE:
        if file.is_relative_to(product):
            return tests / file.relative_to(product)
    is_product = file.parts[0] in ("config", "accounts", "memory", "workflows")
    return "tests" / file if is_product else None


def _ask_git(*arguments: str) -> list[str]:
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")[:-1]
