"""Convert steps and events to JSON text that PostgreSQL accepts, and back."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from math import isfinite
from typing import Any

import orjson

from config.ids import uuid7
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import Event
from workflows.engine.runtime.step_records import StepError, StepKey, StepRecord, StepStatus, Write
from workflows.engine.runtime.waits import Answer, OpenWait, get_asked_call


# jsonb accepts neither NUL nor half a surrogate pair, but a model or a web page may send them.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_SURROGATES = re.compile("[\ud800-\udfff]")

# Values that are no JSON are written as text. An event is a dataclass, whose fields orjson reads by itself.
_EVENT_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME
_OPTIONS = _EVENT_OPTIONS | orjson.OPT_PASSTHROUGH_DATACLASS


def dump(value: Json) -> str:
    """Return the value as JSON text. NUL, NaN, infinities and surrogates are replaced, because jsonb rejects them."""
    try:
        text = orjson.dumps(value, _to_plain, _OPTIONS).decode()
    except TypeError:
        text = _dump_unusual(value)
    return text if "\\u0000" not in text else _NUL.sub(r"\1\\ufffd", text)


def dump_event(event: Event) -> str:
    """Return the fields of the event as JSON text, as ``dump`` returns a value."""
    try:
        text = orjson.dumps(event, _to_plain, _EVENT_OPTIONS).decode()
    except TypeError:
        text = _dump_unusual(to_event_data(event))
    return text if "\\u0000" not in text else _NUL.sub(r"\1\\ufffd", text)


def to_event_data(event: Event) -> dict[str, Json]:
    kind: Any = event.__class__  # Any: a class is hashable, mypy looks at its instances
    return {name: getattr(event, name) for name in _list_field_names(kind)}


def build_step_row(record: StepRecord) -> dict[str, Json]:
    error, key = record.error, record.key
    return {
        "node_key": key.node_id,
        "rounds": key.rounds,
        **({"part": key.part} if key.part else {}),
        "kind": record.kind,
        "status": record.status,
        "handle": record.handle,
        "outputs": record.outputs,
        "inputs": record.inputs,
        "error_type": error.type if error else "",
        "error": error.message if error else "",
        "writes": [[write.selector, write.value] for write in record.writes],
        "tries": record.tries,
        "started_at": record.started_at,
        "elapsed": record.elapsed,
        "waited": record.waited,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
    }


def parse_step_record(row: Mapping[str, Json]) -> StepRecord:
    """Return a stored step, or a part of one, as the engine's record, from which a new attempt continues."""
    return StepRecord(
        key=parse_step_key(row),
        kind=row["kind"],
        status=StepStatus(row["status"]),
        handle=row.get("handle"),
        outputs=row["outputs"],
        inputs=row["inputs"],
        error=StepError(row["error_type"], row["error"]) if row.get("error_type") else None,
        writes=tuple(Write(tuple(selector), value) for selector, value in row.get("writes", ())),
        tries=row.get("tries", 1),
        started_at=row["started_at"],
        elapsed=row["elapsed"],
        waited=row.get("waited", 0.0),
        prompt_tokens=row["prompt_tokens"],
        completion_tokens=row["completion_tokens"],
    )


def parse_step_key(row: Mapping[str, Json]) -> StepKey:
    return StepKey(row["node_key"], tuple(row["rounds"]), row.get("part") or "")


def build_wait_row(open_wait: OpenWait) -> dict[str, Json]:
    key, wait = open_wait.key, open_wait.wait
    return {
        "id": str(uuid7()),
        "node_key": key.node_id,
        "rounds": key.rounds,
        "part": key.part,
        "form": wait.form,
        "child_run_id": wait.child_run_id or None,
        "due_at": wait.due_at,
        "due_in": wait.due_at - time.time() if wait.is_duration and wait.due_at else None,
    }


def parse_answer(row: Mapping[str, Json]) -> Answer:
    return Answer(
        row["values"] or {},
        row["action"],
        row["answered_by"],
        row["is_timed_out"],
        get_asked_call(row["form"]),
        (row["form"] or {}).get("state"),
    )


def make_idempotency_key(run_id: str, key: StepKey) -> str:
    """Return the same key for every attempt at a step, so that the receiver can recognize a repeated effect."""
    return ":".join((run_id, key.node_id, *map(str, key.rounds)))


def _to_plain(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | set | frozenset):
        return list(value)
    return str(value)


def _dump_unusual(value: Json) -> str:
    """Return what orjson refuses: keys that are no text, half of a surrogate pair, integers of more than 64 bits."""
    try:
        text = _encode(value)
    except ValueError:  # NaN or an infinity
        text = _encode(_replace_infinite(value))
    return _SURROGATES.sub("\ufffd", text)


_encode: Callable[[Json], str] = json.JSONEncoder(
    ensure_ascii=False,
    allow_nan=False,
    default=_to_plain,
    separators=(",", ":"),
    check_circular=False,
).encode


def _replace_infinite(value: Json) -> Json:
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _replace_infinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(item) for item in value]
    return value


@cache
def _list_field_names(kind: Any) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))
