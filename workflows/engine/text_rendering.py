"""Renders values inside text: as plain text in prompts and conditions, and as Markdown in answers."""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.values import get_file_attribute, is_file, to_json


def as_text(value: Json) -> str:
    """Return strings unchanged, numbers and booleans as Python prints them, and objects and lists as JSON.

    None, files, empty lists and lists of files are empty text. Dify prints lists of anything but strings as Python
    does; models, HTTP servers and people expect JSON, so this is a deliberate difference.
    """
    render_scalar = _SCALAR_RENDERERS.get(type(value))
    if render_scalar is not None:
        return render_scalar(value)
    if isinstance(value, Mapping):
        return "" if is_file(value) else to_json(value)
    return _list_as_text(list(value))


def as_markdown(value: Json) -> str:
    """Return scalars as ``as_text`` does, objects as indented JSON, lists as bullets, and files as links or images."""
    render_scalar = _SCALAR_RENDERERS.get(type(value))
    if render_scalar is not None:
        return render_scalar(value)
    if isinstance(value, Mapping):
        return _file_as_markdown(value) if is_file(value) else to_json(value, indent=2)
    if value and all(map(is_file, value)):
        return "\n".join(map(_file_as_markdown, value))
    return "\n".join(f"- {item}" for item in value)


def remove_unstorable(text: str) -> str:
    """Return the text without NUL and without halves of surrogate pairs, which a database does not store."""
    if text.isascii():
        return text.replace("\x00", "")
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def _file_as_markdown(file: Mapping[str, Json]) -> str:
    name, url = get_file_attribute(file, "name") or "", get_file_attribute(file, "url") or ""
    if file.get("type") == "image":
        return f"![{name}]({url})"
    return f"[{name or url}]({url})"


def _list_as_text(items: list[Json]) -> str:
    # An empty list prints nothing, not [].
    if not items or all(map(is_file, items)):
        return ""
    return to_json(items)


_SCALAR_RENDERERS: Final[Mapping[type, Callable[[Json], str]]] = {
    str: str,
    int: str,
    float: str,
    bool: str,
    type(None): lambda value: "",
}
