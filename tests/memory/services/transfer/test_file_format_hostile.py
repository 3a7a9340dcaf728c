"""Files that somebody made to break in, or that broke on the way: refused, with line and field."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.tenancy import tenant
from memory import services
from memory.core.errors import ValueTooLarge
from memory.models import Entry
from memory.services.transfer.import_check import MAX_BYTES
from tests.memory.services.conftest import at_door
from tests.memory.services.exchanging import AT, SHARED, brought, entry, file_of, space
from tests.support.cases import for_each
from tests.support.cast import Person


pytestmark = pytest.mark.django_db

HOSTILE: dict[str, tuple[Callable[[], bytes], int, str, str]] = {
    "nothing": (lambda: b"", 1, "", "empty"),
    "not a memory export": (lambda: b'{"hello": 1}\n', 1, "format", "not a memory export"),
    "another version": (
        lambda: file_of().getvalue().replace(b'"version": 1', b'"version": 9'),
        1,
        "version",
        "9",
    ),
    "cut off": (lambda: b"".join(file_of(space()).getvalue().splitlines(True)[:-1]), 2, "", "incomplete"),
    "a line missing": (
        lambda: file_of(space(), entry()).getvalue().replace(json.dumps(entry()).encode() + b"\n", b""),
        3,
        "lines",
        "has 3",
    ),
    "huge line": (lambda: with_line(b'{"value": "' + b"x" * 7_000_000 + b'"}'), 3, "", "Longer"),
    "deep": (lambda: with_value(b"[" * 2_000 + b"]" * 2_000), 3, "value", "deep"),
    "NaN": (lambda: with_value(b"NaN"), 3, "value", "NaN"),
    "infinite metadata": (lambda: with_line(with_field("metadata", b'{"a": -Infinity}')), 3, "metadata", "Infinity"),
    "twice": (lambda: with_line(with_field("key", b'"k", "key": "l"')), 3, "key", "Duplicate key"),
    "NUL": (lambda: with_value(b'"a\\u0000b"'), 3, "value", "NUL"),
    "half a character": (lambda: with_value(b'"\\ud800"'), 3, "value", "surrogate"),
    "bad UTF-8": (lambda: with_value(b'"\xff\xfe"'), 3, "value", "UTF-8"),
    "not JSON": (lambda: with_value(b"'single'"), 3, "value", "JSON"),
    "a list": (lambda: with_line(b"[1]"), 3, "", "Expected an object"),
    "unknown kind": (lambda: with_line(b'{"type": "user"}'), 3, "type", "Use one of"),
    "unknown field": (lambda: file_of(space(), entry(team_id="x")).getvalue(), 3, "team_id", "Unknown field"),
    "importance": (lambda: file_of(space(), entry(importance=7)).getvalue(), 3, "importance", "less"),
    "huge number": (lambda: file_of(space(), entry(revision=2**40)).getvalue(), 3, "revision", "less"),
    "no id": (lambda: file_of(space(), entry(id="1")).getvalue(), 3, "id", "UUID"),
    "no time zone": (lambda: file_of(space(), entry(created_at="2026-01-01T00:00:00")).getvalue(), 3, "created_at", "Time zone"),
    "before the first year": (lambda: file_of(space(), entry(created_at="0001-01-01T00:00:00+14:00")).getvalue(), 3, "created_at", "1970"),
    "after the last year": (lambda: file_of(space(), entry(expires_at="9999-12-31T23:59:59-14:00")).getvalue(), 3, "expires_at", "9000"),
    "before anything was kept": (lambda: file_of(space(), entry(updated_at="0300-01-01T00:00:00Z")).getvalue(), 3, "updated_at", "1970"),
    "past of long ago": (
        lambda: file_of(space(), entry(), revision(at="0001-01-01T00:00:00+01:00")).getvalue(), 4, "at", "1970"
    ),
    "no room to count on": (lambda: file_of(space(), entry(revision=2**31 - 1)).getvalue(), 3, "revision", "less"),
    "no place to go on from": (lambda: file_of(space(), entry(position=2**31 - 1)).getvalue(), 3, "position", "less"),
    "no namespace": (lambda: file_of(space("team:b")).getvalue(), 2, "namespace", "is not a namespace"),
    "another's namespace": (lambda: file_of(space(), entry(namespace="user:bob")).getvalue(), 3, "namespace", "Not in the same namespace"),
    "same id": (lambda: file_of(space(), entry("a"), entry("b")).getvalue(), 4, "id", "Duplicate"),
    "same key": (lambda: file_of(space(), entry("a", 1), entry("a", 2)).getvalue(), 4, "key", "Line 3"),
    "after the end": (lambda: file_of().getvalue() + b'{"type": "end", "lines": 3}\n', 3, "", "After the end"),
}  # fmt: skip


def with_line(line: bytes) -> bytes:
    first, second, *_rest = file_of(space(), entry()).getvalue().splitlines(keepends=True)
    return first + second + line + b'\n{"type": "end", "lines": 4}\n'


def with_field(name: str, value: bytes) -> bytes:
    said = json.dumps(entry()[name]).encode()
    return (
        json.dumps(entry())
        .encode()
        .replace(b'"%b": %b' % (name.encode(), said), b'"%b": %b' % (name.encode(), value))
    )


def revision(**changes: Any) -> dict[str, Any]:
    """The only one of the only entry."""
    state = ("value", "metadata", "category", "tier", "importance")
    said = {name: entry()[name] for name in state}
    whose = {"type": "revision", "entry": entry()["id"], "number": 1, "operation": "store"}
    return {**said, **whose, "at": AT} | changes


def with_value(value: bytes) -> bytes:
    return with_line(with_field("value", value))


def test_furthest_moments_and_numbers_are_taken_and_can_be_changed(alice: Person) -> None:
    far = entry(
        revision=10**9, expires_at="9000-12-31T23:59:59Z", created_at="1970-01-01T00:00:00Z"
    )

    report = brought(alice, file_of(space(), far))

    assert (report.problems, report.new_count) == ([], 1)
    door = at_door(alice)
    kept = services.remember(door, namespace=SHARED, key="k", value="changed")
    assert kept.revision == 10**9 + 1
    assert services.list_entries(door, namespace=SHARED).total == 1


@for_each("name", HOSTILE)
def test_hostile_file_is_refused_with_line_and_field(alice: Person, name: str) -> None:
    make, line, field, said = HOSTILE[name]

    report = brought(alice, io.BytesIO(make()))

    first = report.problems[0]
    assert (first.line, first.field) == (line, field)
    assert said in first.message
    with tenant([alice.team.pk]):
        assert not Entry.objects.unscoped().exists()


def test_file_of_too_many_bytes_is_refused_while_it_is_read(alice: Person) -> None:
    class Endless(io.RawIOBase):
        def __init__(self) -> None:
            self.read_ = 0
            self.head = file_of(space()).getvalue().splitlines(keepends=True)[:2]

        def readline(self, size: int | None = -1, /) -> bytes:
            line = self.head.pop(0) if self.head else b'{"type": "about"}\n' + b"" * 1000
            line = line if len(line) > 30 else b" " * 5_000_000 + line
            self.read_ += len(line)
            return line

    endless = Endless()
    with pytest.raises(ValueTooLarge, match="at most"):
        brought(alice, endless)  # type: ignore[arg-type]  # as much of a file as is read

    assert endless.read_ < MAX_BYTES + 6_000_000
