"""The list of tests that failed once and passed when they were tried again, kept from run to run."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.phases.outcomes import Failure
from tests.phases.plan import ROOT


FOLDER: Final = ROOT / ".mnemoflow-tests"
FLAKY: Final = FOLDER / "flaky.jsonl"


def add_flaky(failures: Iterable[Failure], commit: str, path: Path = FLAKY) -> None:
    """Add a line for each, with the time, the commit and why it failed the first time."""
    path.parent.mkdir(exist_ok=True)
    time = datetime.now(UTC).isoformat(timespec="seconds")
    with path.open("a", encoding="utf-8") as file:
        for failure in failures:
            line = {"time": time, "commit": commit, "test": failure.node, "reason": failure.reason}
            file.write(json.dumps(line) + "\n")


def read_flaky(path: Path = FLAKY) -> list[str]:
    """Return the names of all tests on the list, each once, in the order in which they came."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(str(json.loads(line)["test"]) for line in lines))
