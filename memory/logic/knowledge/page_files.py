"""Pages as Markdown files: a head of names and values between lines of dashes, then the content.

Byte for byte, both ways. The content is what follows the head, untouched, whatever is in it. A file
from elsewhere keeps its own head, spelling, order, unknown names and all, until the page says
something else than the head does; a file without a head stays one.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import yaml

from memory.core.errors import InvalidInput
from memory.logic.knowledge.pages import Header, KnowledgePage, slug, tidy


def export_page(page: KnowledgePage) -> bytes:
    header = page.header or Header("", "")
    said = _read(header.text)
    kept = page.header is not None and header.digest == _digest(page, said)
    head = header.text if kept else _head(page, said)
    return f"{head}{page.content}".encode()


def import_page(data: bytes, *, name: str, now: datetime) -> KnowledgePage:
    """``name`` of the file stands in for an id and a title that neither head nor content give."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{name}: must be UTF-8 text.") from None
    head, content = split(text)
    said = _read(head)
    stem = re.sub(r"\.(?:md|markdown|txt)$", "", name, flags=re.IGNORECASE)
    title = _text(said, "title") or _first_heading(content) or stem
    page = KnowledgePage(
        id=_text(said, "id") or slug(stem),
        title=title,
        summary=_text(said, "summary", "description"),
        content=content,
        tags=_texts(said, "tags", "keywords"),
        references=_texts(said, "references", "links"),
        aliases=_texts(said, "aliases"),
        created_at=_moment(said, *_CREATED) or now,
        updated_at=_moment(said, *_UPDATED) or now,
    )
    page = tidy(page)
    if head == _head(page, {}):
        return page  # our own, which needs no keeping
    return replace(page, header=Header(head, _digest(page, said)))


def split(text: str) -> tuple[str, str]:
    """The head with its dashes, and everything after. No readable head is no head."""
    found = _HEAD.match(text)
    if found and len(found[0]) <= _LONGEST_HEAD and _parsed(found["yaml"]) is not None:
        return found[0], text[found.end() :]
    # The mark that some editors begin a file with belongs to the file, not to what it says.
    mark = text[: text.startswith(_MARK)]
    return mark, text[len(mark) :]


def file_name(page: KnowledgePage) -> str:
    return f"{slug(page.id)}.md"


_HEAD = re.compile(
    r"\ufeff?---[ \t]*\r?\n(?P<yaml>(?:[^\n]*\n)*?)---[ \t]*(?:\r?\n|\Z)",
)
_LONGEST_HEAD = 64_000
_MARK = "\ufeff"
_CREATED = ("created_at", "created", "date")
_UPDATED = ("updated_at", "updated", "modified")
_HEADING = re.compile(r"^[ ]{0,3}#[ \t]+(\S[^\r\n]{0,300})", re.MULTILINE)

# What YAML would take for the end of a line, or not take at all, inside quotes.
_UNREADABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def _head(page: KnowledgePage, others: Mapping[str, Any]) -> str:
    """Every value as JSON on its own line, which is YAML too. ``others``: names we don't know."""
    said: dict[str, Any] = {
        "id": page.id,
        "title": page.title,
        "summary": page.summary,
        "tags": list(page.tags),
        "aliases": list(page.aliases),
        "references": list(page.references),
        "created_at": page.created_at.isoformat() if page.created_at else "",
        "updated_at": page.updated_at.isoformat() if page.updated_at else "",
    }
    if not page.aliases:
        del said["aliases"]
    said |= {name: value for name, value in others.items() if name not in _KNOWN}
    lines = (f"{_quoted_name(name)}: {_quoted(value)}\n" for name, value in said.items())
    return f"---\n{''.join(lines)}---\n"


_KNOWN = frozenset(
    ("id", "title", "summary", "description", "tags", "keywords", "aliases", "references", "links")
) | frozenset((*_CREATED, *_UPDATED))


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNREADABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _quoted_name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _quoted(name)


def _read(head: str) -> dict[str, Any]:
    found = _HEAD.match(head)
    return (_parsed(found["yaml"]) or {}) if found else {}


def _parsed(text: str) -> dict[str, Any] | None:
    """Names and values as texts; nothing but a mapping is a head."""
    try:
        found = yaml.load(text, Loader=_Loader)  # noqa: S506 - this loader makes texts only
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    if found is None or found == "":
        return {}
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        return None
    return found


_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _text(said: Mapping[str, Any], *names: str) -> str:
    found = (said[name] for name in names if isinstance(said.get(name), str))
    return next((one.strip() if names == ("id",) else one for one in found), "")


def _texts(said: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    for name in names:
        value = said.get(name)
        if isinstance(value, str):
            return tuple(part.strip() for part in re.split(r"[,，]", value) if part.strip())
        if isinstance(value, list):
            return tuple(one for one in value if isinstance(one, str))
    return ()


def _moment(said: Mapping[str, Any], *names: str) -> datetime | None:
    for name in names:
        try:
            found = datetime.fromisoformat(_text(said, name).strip())
        except ValueError:
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None


def _first_heading(content: str) -> str:
    found = _HEADING.search(content)
    return found[1].strip() if found else ""


def _digest(page: KnowledgePage, said: Mapping[str, Any]) -> str:
    """Of what the head says. A moment that it doesn't name came from the clock, and doesn't count."""
    values = [page.id, page.title, page.summary, page.tags, page.aliases, page.references]
    if _moment(said, *_CREATED):
        values.append(str(page.created_at))
    if _moment(said, *_UPDATED):
        values.append(str(page.updated_at))
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
