"""Shows files on pages: those in the values of runs, and those that a text links to."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from django import template
from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from workflows.engine.language.document import Json
from workflows.engine.language.values import is_file
from workflows.files.links import LINK_IN_TEXT, find_linked_id
from workflows.files.shown import ShownFile, describe_value


register = template.Library()

_MAX_SHOWN: Final = 50


@register.inclusion_tag("components/files/_files.html")
def show_files(
    *values: Json,
    leave_out: Collection[UUID] = (),
    signed_urls: Mapping[UUID, str] | None = None,
    own_only: bool = False,
) -> dict[str, object]:
    """Show the files anywhere in these values; nothing if there are none. ``leave_out``: those that a text shows already.

    ``signed_urls`` are the addresses of the reader's own files, without an account; others aren't shown with ``own_only``.
    """
    files = [
        file for file in list_shown_files(*values) if file.id is None or file.id not in leave_out
    ]
    if not own_only:
        return {"files": files}
    urls = signed_urls or {}
    return {
        "files": [
            file if file.id is None else replace(file, url=urls[file.id])
            for file in files
            if file.id is None or file.id in urls
        ]
    }


@register.filter
def show_linked_files(text: str, files: Mapping[UUID, ShownFile]) -> SafeString:
    """Return a plain text as HTML, in which each link to a stored file is the file: a picture, or its name and size."""
    parts, position = [], 0
    for match in LINK_IN_TEXT.finditer(text):
        file_id = find_linked_id(match["url"])
        if file_id is None:
            continue
        parts.append(escape(text[position : match.start()]))
        parts.append(render_linked_file(files.get(file_id), match["name"]))
        position = match.end()
    return mark_safe("".join([*parts, escape(text[position:])]))  # noqa: S308 - each part is escaped


def render_linked_file(file: ShownFile | None, name: str) -> SafeString:
    """Return a stored file to be shown in a text. ``None`` is one that is gone, or that isn't the reader's."""
    return render_to_string("components/files/_linked_file.html", {"file": file, "name": name})


def list_shown_files(*values: Json) -> tuple[ShownFile, ...]:
    """Return the files anywhere in these values, each once."""
    files: dict[str, ShownFile] = {}
    stack = [*reversed(values)]
    while stack and len(files) < _MAX_SHOWN:
        value = stack.pop()
        if is_file(value):
            file = describe_value(value)
            if file is not None:
                files.setdefault(file.url, file)
        elif isinstance(value, Mapping):
            stack += reversed(list(value.values()))
        elif isinstance(value, list | tuple):
            stack += reversed(value)
    return tuple(files.values())
