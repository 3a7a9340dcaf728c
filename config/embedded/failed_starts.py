"""What a service wrote before it failed to start, and what an operator can do about it."""

from pathlib import Path


# Part of a log's text → what to do. The first that is found counts.
ADVICE = {
    "error while loading shared libraries": (
        "A library is missing. If its name begins with libpq, install the packages again: `make clean`, then "
        "`make setup`. Otherwise install the library (on Debian, libz is in zlib1g)."
    ),
    "No space left on device": "The disk is full. Free some space, then start again.",
    "initialized by PostgreSQL version": (
        "Another version of PostgreSQL made the data. Make a backup with the version of Mnemoflow that ran last, move "
        "the data away, start again and restore the backup (docs/operate/backup.md)."
    ),
    "pre-existing shared memory block": (
        "Another server still uses the same data. Stop it (`manage.py down`), then start again."
    ),
    "Permission denied": (
        "PostgreSQL's user may not use what is named above. Give it back to that user, or start with MNEMOFLOW_HOME set "
        "to another folder."
    ),
    "Cannot allocate memory": "There is too little free memory. End other programs, then start again.",
    "unix domain socket": (
        "The socket can't be made there. Start with MNEMOFLOW_HOME set to a folder with a shorter path."
    ),
}
OTHERWISE = "Mend what the last line says, then start again."
LAST_LINES = 12


class LogPart:
    """What is written to a log from now on: an earlier start's words say nothing about this one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begin = path.stat().st_size if path.exists() else 0

    def add(self, line: str) -> None:
        with self.path.open("a", errors="replace") as file:
            file.write(f"{line}\n")

    def read(self) -> str:
        if not self.path.exists():
            return ""
        with self.path.open("rb") as file:
            file.seek(self._begin)
            return file.read().decode(errors="replace")


def describe_failure(log: LogPart, variable: str) -> str:
    """Return the end of the log and what to do. ``variable`` names another server."""
    text = log.read()
    lines = text.strip().splitlines()[-LAST_LINES:] or ["(nothing)"]
    quoted = "\n".join(f"  {line}" for line in lines)
    advice = next((words for part, words in ADVICE.items() if part in text), OTHERWISE)
    return (
        f"The end of {log.path}:\n{quoted}\n"
        f"{advice} Or set {variable} to a server of your own (docs/operate/run-it.md)."
    )
