"""A start that fails says where its log is, what it said last, and what to do."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from config.embedded import postgres as postgres_module
from config.embedded.errors import ServiceFailed
from config.embedded.failed_starts import ADVICE, OTHERWISE, LogPart, describe_failure
from config.embedded.postgres import Postgres
from config.embedded.program_copies import PROGRAMS
from config.embedded.valkey import Valkey


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        (
            "initdb: error while loading shared libraries: libpq-1.so.5.18: cannot open shared object file",
            "`make clean`, then `make setup`",
        ),
        ("FATAL:  could not write lock file: No space left on device", "Free some space"),
        (
            "DETAIL:  The data directory was initialized by PostgreSQL version 17, which is not compatible",
            "restore the backup",
        ),
        ("FATAL:  pre-existing shared memory block (key 1) is still in use", "`manage.py down`"),
        ("could not open directory: Permission denied", "MNEMOFLOW_HOME"),
        ("FATAL:  could not map anonymous shared memory: Cannot allocate memory", "too little"),
        ("something that nobody has seen yet", OTHERWISE),
    ],
)
def test_failure_names_log_last_line_and_what_to_do(tmp_path: Path, line: str, advice: str):
    log = tmp_path / "postgres.log"
    log.write_text("an earlier start: No space left on device\n")
    part = LogPart(log)
    part.add(line)

    message = describe_failure(part, "DATABASE_URL")

    assert str(log) in message
    assert f"\n  {line}\n" in message
    assert advice in message
    assert "Or set DATABASE_URL to a server of your own" in message
    assert "an earlier start" not in message


def test_every_advice_is_a_sentence():
    assert [advice for advice in ADVICE.values() if not advice.endswith(".")] == []


def write_program(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)


@pytest.fixture
def use_programs(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Postgres]:
    """PostgreSQL with programs that are scripts."""

    def use(content: str) -> Postgres:
        programs = home / PROGRAMS
        for name in ("initdb", "postgres"):
            write_program(programs / name, content)
        monkeypatch.setattr(postgres_module, "find_binaries", lambda _user: programs)
        return Postgres(home / "pg", home / "run", home / "postgres.log")

    return use


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("#!/bin/sh\necho 'libpq is away'\nexit 127\n", "libpq is away"),
        ("#!/nowhere/sh\n", os.strerror(errno.ENOENT)),  # it can't even be executed
    ],
)
def test_postgres_that_can_not_start_is_reported(
    use_programs: Callable[[str], Postgres], content: str, line: str
):
    server = use_programs(content)

    with pytest.raises(ServiceFailed) as caught:
        server.start()

    message = str(caught.value)
    assert message.startswith(f"PostgreSQL did not start. The end of {server.log}:\n")
    assert line in message
    assert "DATABASE_URL" in message


def test_valkey_that_can_not_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "valkey-server"
    write_program(program, "#!/bin/sh\necho 'no such option'\nexit 1\n")
    monkeypatch.setattr("config.embedded.valkey.find_binary", lambda: program)
    server = Valkey(tmp_path / "data", tmp_path / "run" / "valkey.sock", tmp_path / "valkey.log")

    with pytest.raises(
        ServiceFailed, match=r"(?s)Valkey did not start.*no such option.*BROKER_URL"
    ):
        server.start()
