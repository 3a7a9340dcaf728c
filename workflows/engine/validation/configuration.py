"""Is every node of a known kind, and configured as its kind wants it."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from workflows.engine.document import Document, NodeSpec
from workflows.engine.kinds import AnyKind, Field
from workflows.engine.policy import read_policy
from workflows.engine.problems import Problem
from workflows.engine.remembering import RECALLING


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
    yield from kind.check(node)
    yield from _scope_problems(node, kind)
    yield from read_policy(node, retryable=kind.retryable)[1]
    if not remembers and node.data.get(RECALLING) is not None:
        message = f"Unknown field {RECALLING}: memory is not offered here"
        yield Problem("config.unknown_field", message, node=node.id, field=RECALLING)


def _unknown(kind: str, kinds: Mapping[str, AnyKind]) -> str:
    close = get_close_matches(kind, list(kinds), n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"There is no node type {kind!r} here{hint}"


# Offered in no form: it needs the group its merged workflows share, which a document can't give.
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
            yield f"{inside}scope", written, (*words, *_UNLISTED_SCOPES)
        elif field.fields and isinstance(written, Mapping):
            yield from _scopes(field.fields, written, f"{inside}{field.name}.")
