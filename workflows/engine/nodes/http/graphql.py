"""Fills values into the text of a GraphQL query, each encoded for its place: in a string, in a comment, or outside."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.nodes.http.marks import MARK
from workflows.engine.text_rendering import as_text


GetValue = Callable[[int], Json]

# The member or parameter of a request to a GraphQL server that is a text in a language of its own.
QUERY: Final = "query"
_QUERY: Final = re.compile(
    r"(?:\s|,|#[^\n]*)*(?:\{\s*[_A-Za-z.\ufdd0]|(?:query|mutation|subscription|fragment)\b[^\"{]*\{)"
)
_BLOCK_STRING: Final = r'"""(?:\\"""|(?!""").)*(?:"""|$)'
_STRING: Final = r'"(?:\\.|[^"\\\n])*(?:"|$)'
_COMMENT: Final = r"#[^\n]*"
_TOKEN: Final = re.compile(
    f"(?P<block>{_BLOCK_STRING})|(?P<string>{_STRING})|(?P<comment>{_COMMENT})|(?P<mark>{MARK.pattern})",
    re.DOTALL,
)
_NAME: Final = re.compile(r"[_A-Za-z][_0-9A-Za-z]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def is_graphql(text: str) -> bool:
    """Return whether a text is a query, a mutation, a subscription or a fragment, and not only called query."""
    return _QUERY.match(text) is not None


def render_graphql(text: str, get_value: GetValue) -> str:
    """Return the query with a value for each mark in it. A value can't end the string that it stands in."""

    def fill_in(token: re.Match[str]) -> str:
        encode = _ENCODERS[token.lastgroup or "mark"]
        return MARK.sub(lambda mark: encode(get_value(int(mark[1]))), token[0])

    return _TOKEN.sub(fill_in, text)


def _encode_outside(value: Json) -> str:
    """Return a value as GraphQL writes it; a text that is one name or number, as an author may mean it, is that."""
    if isinstance(value, str):
        is_word = _NAME.fullmatch(value) or _NUMBER.fullmatch(value)
        return value if is_word else _quote(value)
    if isinstance(value, Mapping):
        members = (f"{_encode_name(name)}: {_encode_member(item)}" for name, item in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_encode_member, value))}]"
    return json.dumps(value)


def _encode_member(value: Json) -> str:
    return _quote(value) if isinstance(value, str) else _encode_outside(value)


def _encode_name(name: str) -> str:
    return name if _NAME.fullmatch(name) else re.sub(r"\W", "_", name, flags=re.ASCII)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_ENCODERS: Final[Mapping[str, Callable[[Json], str]]] = {
    "block": lambda value: as_text(value).replace('"""', '\\"""'),
    "string": lambda value: _quote(as_text(value))[1:-1],
    "comment": lambda value: " ".join(as_text(value).split()),
    "mark": _encode_outside,
}
