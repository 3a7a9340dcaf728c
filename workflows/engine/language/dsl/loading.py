"""Parses bytes into a tree of plain values, strictly: JSON or YAML without anything ambiguous."""

import json
import tomllib
from collections.abc import Mapping

from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Json
from workflows.engine.language.dsl.limits import (
    build_rejection,
    check_float,
    check_size,
    check_tree,
    read_integer,
)
from workflows.engine.language.dsl.yaml_reading import read_yaml


def load_tree(source: str | bytes | Mapping[str, Json]) -> dict[str, Json]:
    """Return the mapping of a document. Raises DocumentInvalid with an error code."""
    if isinstance(source, Mapping):
        return check_tree(source)
    text = _decode(source)
    try:
        tree = _parse(text)
    except DocumentInvalid:
        _check_toml(text)
        raise
    if isinstance(tree, Mapping):
        return check_tree(tree)
    _check_toml(text)
    message = "The document must be a mapping (YAML or JSON), not a list or text"
    raise build_rejection("not_a_mapping", message)


def _decode(source: str | bytes) -> str:
    # More characters than allowed bytes are too large in any encoding.
    check_size(len(source))
    if isinstance(source, str):
        try:
            check_size(len(source.encode()))
        except UnicodeEncodeError:
            raise build_rejection("surrogate", "The text contains half a surrogate pair") from None
        return source.removeprefix("\ufeff")
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise build_rejection("encoding", "The document is not UTF-8 text") from None


def _parse(text: str) -> Json:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _read_json(text)
        except json.JSONDecodeError:
            pass  # YAML may start with a brace, too
    return read_yaml(text)


def _check_toml(text: str) -> None:
    """Raise DocumentInvalid for a text that is TOML and no YAML."""
    if "=" not in text:
        return
    try:
        tree = tomllib.loads(text)
    except (ValueError, RecursionError):  # also a number with too many digits
        return
    if tree:
        raise build_rejection("toml", "This is TOML. Workflows are YAML or JSON")


def _read_json(text: str) -> Json:
    try:
        return json.loads(
            text,
            object_pairs_hook=_build_object,
            parse_constant=_reject_non_finite,
            parse_int=read_integer,
        )
    except RecursionError:
        raise build_rejection("too_deep", "The document is nested too deeply") from None


def _build_object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys: set[str] = set()
        duplicate = next(key for key, _ in pairs if key in keys or keys.add(key))  # type: ignore[func-returns-value]
        raise build_rejection("duplicate_key", f"The key {duplicate!r} appears twice")
    return result


def _reject_non_finite(name: str) -> Json:
    return check_float(float(name))
