"""The limits of a document in any dialect, and the rejection of everything beyond them.

The limits are checked before anything is built from a document, since a few hundred bytes can expand to gigabytes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from workflows.engine.errors import DocumentInvalid, DocumentTooLarge
from workflows.engine.language.containers import MAX_NESTING, measure_nesting
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.problems import Problem


# Dify accepts 10 MB, but 2,500 nodes need less than a tenth, and parsing time grows with the size.
MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 40
MAX_NODES: Final = 2500
MAX_EDGES: Final = 5000
# 2,500 nodes need about half of it. Parsing time grows with the number more than with the size.
MAX_VALUES: Final = 100_000
MAX_INTEGER: Final = 2**63 - 1
MAX_DIGITS: Final = 20  # with the sign

TOO_DEEP: Final = f"Containers can be nested at most {MAX_NESTING} levels deep"


def build_rejection(code: str, message: str) -> DocumentInvalid:
    return DocumentInvalid([Problem(f"document.{code}", message)])


def check_size(size: int) -> None:
    if size > MAX_BYTES:
        message = f"The document is larger than {MAX_BYTES:,} bytes"
        raise DocumentTooLarge([Problem("document.too_large", message)])


def iter_size_errors(node_count: int, edge_count: int) -> Iterator[tuple[str, str]]:
    """Yield the name of each part that has too many members, with a message."""
    for part, count, limit in (("nodes", node_count, MAX_NODES), ("edges", edge_count, MAX_EDGES)):
        if count > limit:
            yield part, f"A workflow can have at most {limit} {part}, this one has {count}"


def check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise build_rejection(
            "too_deep", f"The document is nested more than {MAX_DEPTH} levels deep"
        )


def check_count(count: int) -> None:
    if count > MAX_VALUES:
        raise build_rejection("too_many", f"The document has more than {MAX_VALUES:,} values")


def check_nesting(nodes: Sequence[NodeSpec]) -> None:
    if is_nested_too_deeply(nodes):
        raise build_rejection("nesting", TOO_DEEP)


def is_nested_too_deeply(nodes: Sequence[NodeSpec]) -> bool:
    """Return whether containers are nested so deeply that the document can't be shown. A run allows less."""
    # If an id is repeated, some readers of a document use the first of its nodes, and others the last.
    return any(
        measure_nesting({node.id: node.parent for node in ordered}) > MAX_NESTING
        for ordered in (nodes, nodes[::-1])
    )


def check_integer(number: int) -> int:
    if abs(number) > MAX_INTEGER:
        raise build_rejection("integer", "A whole number is beyond ±(2^63-1); write it as text")
    return number


def read_integer(digits: str) -> int:
    """Return the number. One with too many digits is rejected before it is converted, which would take long."""
    return check_integer(int(digits) if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS)


def check_float(number: float) -> float:
    if not math.isfinite(number):
        raise build_rejection(
            "float", "NaN and infinite numbers can't be stored; write them as text"
        )
    return number


def check_text(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    if "\0" in text:
        raise build_rejection("nul", "A text contains a NUL character, which can't be stored")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise build_rejection(
            "surrogate", "A text contains half a surrogate pair, which is not a character"
        ) from None
    return text


def check_tree(tree: Mapping[str, Json]) -> dict[str, Json]:
    """Return a checked copy of plain dicts, lists and scalars. Raises DocumentInvalid for the first violation."""
    result: dict[str, Json] = {}
    size = count = 0
    pending: list[tuple[Json, Json, int]] = [(tree, result, 1)]
    while pending:
        source, copy, depth = pending.pop()
        check_depth(depth)
        count += len(source)
        check_count(count)
        items = source.items() if isinstance(source, Mapping) else enumerate(source)
        for key, value in items:
            if isinstance(copy, dict) and not isinstance(key, str):
                raise build_rejection("key", f"The key {key!r} is not text")
            size += 1 + (len(check_text(key)) if isinstance(key, str) else 0)
            size += len(value) if isinstance(value, str) else 0
            check_size(size)
            checked = _check_value(value, depth, pending)
            if isinstance(copy, dict):
                copy[key] = checked
            else:
                copy.append(checked)
    return result


def measure_tree(tree: Json) -> int:
    """Return the size as ``check_tree`` counts it: the characters of keys and strings, and one for each member."""
    size = 0
    pending = [tree]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, Mapping):
            size += sum(1 + len(key) for key in value)
            pending.extend(value.values())
        elif isinstance(value, list | tuple):
            size += len(value)
            pending.extend(value)
    return size


def _check_value(value: Json, depth: int, pending: list[tuple[Json, Json, int]]) -> Json:
    """Return a checked scalar, or an empty copy of a collection, whose contents are added to ``pending``."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value)
    if isinstance(value, int):
        return check_integer(value)
    if isinstance(value, float):
        return check_float(value)
    if isinstance(value, list | dict | tuple | Mapping):  # the quick checks first
        copy: Json = [] if isinstance(value, list | tuple) else {}
        pending.append((value, copy, depth + 1))
        return copy
    raise build_rejection("value", f"A {type(value).__name__} can't be part of a document")
