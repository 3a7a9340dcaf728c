"""From bytes to a tree of plain values, strictly: JSON or YAML, nothing doubtful let through."""

import json
from collections.abc import Mapping

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.strict import check_float, check_size, checked_tree, refuse
from workflows.engine.language.dsl.yaml_reading import read_yaml


def load_tree(source: str | bytes | Mapping[str, Json]) -> dict[str, Json]:
    """The mapping a document is. Raises DocumentInvalid with a code for what is wrong."""
    tree = source if isinstance(source, Mapping) else _parse(_decoded(source))
    if not isinstance(tree, Mapping):
        raise refuse(
            "not_a_mapping", "The document must be a mapping (YAML or JSON), not a list or text"
        )
    return checked_tree(tree)


def _decoded(source: str | bytes) -> str:
    # A text of more characters than bytes allowed needn't be encoded to be too large.
    check_size(len(source))
    if isinstance(source, str):
        try:
            check_size(len(source.encode()))
        except UnicodeEncodeError:
            raise refuse("surrogate", "The text contains half a surrogate pair") from None
        return source.removeprefix("\ufeff")
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refuse("encoding", "The document is not UTF-8 text") from None


def _parse(text: str) -> Json:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _read_json(text)
        except json.JSONDecodeError:
            pass  # YAML may start with a brace as well
    return read_yaml(text)


def _read_json(text: str) -> Json:
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_not_finite,
            parse_int=_integer,
        )
    except RecursionError:
        raise refuse("too_deep", "The document is nested too deeply") from None


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise refuse("duplicate_key", f"The key {twice!r} appears twice")
    return result


def _not_finite(name: str) -> Json:
    return check_float(float(name))


def _integer(digits: str) -> int:
    if len(digits) > 20:
        raise refuse("integer", "A whole number is beyond ±(2^63-1); write it as text")
    return int(digits)
