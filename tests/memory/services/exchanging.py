"""Files of memory as tests write them."""

import io
import json
from typing import Any

from memory import services
from memory.services.transfer.exporting import ExportFile
from tests.memory.services.conftest import at_door
from tests.support.cast import Person


SHARED = "global:app"


def exported(made: ExportFile) -> bytes:
    data = b"".join(made.read_chunks())
    assert len(data) == made.size
    return data


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def file_of(*given: dict[str, Any]) -> io.BytesIO:
    """A file around these lines, with its first and its last."""
    head = {"format": "mnemoflow-memory", "version": 1, "of": "team", "name": "x", "at": AT}
    body = [head, *given, {"type": "end", "lines": len(given) + 2}]
    return io.BytesIO(b"".join(json.dumps(one).encode() + b"\n" for one in body))


AT = "2026-05-01T10:00:00Z"


def space(text: str = SHARED) -> dict[str, Any]:
    return {"type": "namespace", "namespace": text, "scope": "global", "created_at": AT}


def entry(key: str = "k", number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "type": "entry",
        "namespace": SHARED,
        "id": f"01900000-0000-7000-8000-{number:012d}",
        "key": key,
        "value": "v",
        "metadata": {},
        "category": "fact",
        "tier": "long_term",
        "importance": 0.5,
        "revision": 1,
        "created_at": AT,
        "updated_at": AT,
    } | changes


def revision(of: str, number: int, value: str) -> dict[str, Any]:
    return {
        "type": "revision",
        "entry": of,
        "number": number,
        "operation": "store",
        "value": value,
        "metadata": {},
        "category": "fact",
        "tier": "long_term",
        "importance": 0.5,
        "actor": "user:elsewhere",
        "reason": f"said {value}",
        "at": AT,
    }


def brought(person: Person, file: io.BytesIO, **how: Any) -> Any:
    return services.import_file(at_door(person), file, **{"dry_run": False} | how)
