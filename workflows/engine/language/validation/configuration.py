"""Is every node of a known kind, and configured as its kind wants it."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from workflows.engine.kinds import AnyKind, Field
from workflows.engine.language.document import Document, Json, NodeSpec
from workflows.engine.language.failure_policy import read_policy
from workflows.engine.language.memory_usage import RECALLING
from workflows.engine.language.problems import Problem, warning


def configuration_problems(document: Document, kinds: Mapping[str, AnyKind]) -> list[Problem]:
    remembers = any(field.name == RECALLING for kind in kinds.values() for field in kind.fields)
    return [
        problem
        for node in document.nodes
        for problem in _node_problems(node, kinds, remembers=remembers)
    ]


def _node_problems(
    node: NodeSpec, kinds: Mapping[str, AnyKind], *, remembers: bool
) -> Iterator[Problem]:
    if node.kind not in kinds:
        yield Problem("kind.unknown", _unknown(node.kind, kinds), node=node.id, field="type")
        return
    kind = kinds[node.kind]
    wrong = kind.check(node)
    yield from wrong or _empty_fields(node, kind)
    yield from _scope_problems(node, kind)
    yield from read_policy(node, kind.retry)[1]
    if not remembers and node.data.get(RECALLING) is not None:
        message = f"Unknown field {RECALLING}: memory is disabled"
        yield Problem("config.unknown_field", message, node=node.id, field=RECALLING)


def _empty_fields(node: NodeSpec, kind: AnyKind) -> Iterator[Problem]:
    """What its form marks as required, or says it wants; a default counts while nothing is written."""
    for field in kind.fields:
        if any(node.data.get(name) for name in field.alternatives):
            continue
        if field.empty_warning and _is_empty(node.data.get(field.name)):
            yield warning("config.empty", field.empty_warning, node=node.id, field=field.name)
        elif field.required and _is_empty(node.data.get(field.name, field.default)):
            message = f"{field.label} is missing"
            yield warning("config.empty", message, node=node.id, field=field.name)


def _is_empty(value: Json) -> bool:
    """Messages without a word are no prompt, however many there are."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, Mapping) and "role" in value:
        return all(_is_empty(part) for name, part in value.items() if name in _WORDS)
    if isinstance(value, list | tuple):
        return all(_is_empty(one) for one in value)
    return value is None or value == {}


# Of a message, what the model reads: written in one way or the other.
_WORDS = ("text", "jinja2_text")


def _unknown(kind: str, kinds: Mapping[str, AnyKind]) -> str:
    close = get_close_matches(kind, list(kinds), n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"Unknown node type {kind!r}{hint}"


# Chats and pages offer less than memory nodes do; a document may say it all the same.
_UNLISTED_SCOPES = ("workflow",)


def _scope_problems(node: NodeSpec, kind: AnyKind) -> Iterator[Problem]:
    """A memory scope is one of the words its field offers; plug-ins have added theirs there."""
    for path, written, known in _scopes(kind.fields, node.data, ""):
        if written not in known:
            message = f"Unknown memory scope {written!r}; use one of: {', '.join(known)}"
            yield Problem("config.unknown_scope", message, node=node.id, field=path)


def _scopes(
    fields: Iterable[Field], data: Mapping[str, object], inside: str
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for field in fields:
        written = data.get(field.name)
        if field.name == "scope" and isinstance(written, str) and field.choices:
            words = tuple(word for word, _label in field.choices)
            more = tuple(word for word in _UNLISTED_SCOPES if word not in words)
            yield f"{inside}scope", written, (*words, *more)
        elif field.fields and isinstance(written, Mapping):
            yield from _scopes(field.fields, written, f"{inside}{field.name}.")
