"""Pages as Markdown files: a header of names and values between lines of dashes, then the content.

Export and import are exact to the byte: the content follows the header unchanged. An imported file keeps its header
with its spelling, order and unknown names until the values of the page change; a file without a header gets none.
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
from memory.logic.knowledge.pages import Header, KnowledgePage, build_slug, normalize_page


_HEADER = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<yaml>(?:[^\n]*\n)*?)---[ \t]*(?:\r?\n|\Z)")
_MAX_HEADER_LENGTH = 64_000
_BYTE_ORDER_MARK = "\ufeff"
_CREATED = ("created_at", "created", "date")
_UPDATED = ("updated_at", "updated", "modified")
_HEADING = re.compile(r"^[ ]{0,3}#[ \t]+(\S[^\r\n]{0,300})", re.MULTILINE)

# Characters that YAML reads as line ends, or refuses, inside quotes.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

_KNOWN_NAMES = frozenset(
    ["id", "title", "summary", "description", "tags", "keywords", "aliases", "references", "links"]
)
_KNOWN_NAMES |= {*_CREATED, *_UPDATED}


def export_page(page: KnowledgePage) -> bytes:
    """Return the page as a file, with its imported header if the values in it are unchanged."""
    header = page.header or Header("", "")
    fields = parse_header(header.text)
    is_unchanged = page.header is not None and header.digest == _compute_digest(page, fields)
    text = header.text if is_unchanged else _build_header(page, fields)
    return f"{text}{page.content}".encode()


def import_page(data: bytes, *, name: str, now: datetime) -> KnowledgePage:
    """Parse a file. Its ``name`` replaces a missing id and title. Raise InvalidInput if the file isn't UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{name}: must be UTF-8 text.") from None
    header, content = split_header(text)
    fields = parse_header(header)
    stem = re.sub(r"\.(?:md|markdown|txt)$", "", name, flags=re.IGNORECASE)
    heading = _HEADING.search(content)
    page = KnowledgePage(
        id=_get_text(fields, "id") or build_slug(stem),
        title=_get_text(fields, "title") or (heading[1].strip() if heading else "") or stem,
        summary=_get_text(fields, "summary", "description"),
        content=content,
        tags=_get_texts(fields, "tags", "keywords"),
        references=_get_texts(fields, "references", "links"),
        aliases=_get_texts(fields, "aliases"),
        created_at=_get_time(fields, *_CREATED) or now,
        updated_at=_get_time(fields, *_UPDATED) or now,
    )
    page = normalize_page(page)
    if header == _build_header(page, {}):
        return page  # this header would be written again anyway
    return replace(page, header=Header(header, _compute_digest(page, fields)))


def split_header(text: str) -> tuple[str, str]:
    """Return the header with its dashes, and the content. A header that isn't valid belongs to the content."""
    match = _HEADER.match(text)
    if match and len(match[0]) <= _MAX_HEADER_LENGTH and _parse_yaml(match["yaml"]) is not None:
        return match[0], text[match.end() :]
    # A byte order mark belongs to the file, not to its content.
    length = int(text.startswith(_BYTE_ORDER_MARK))
    return text[:length], text[length:]


def build_file_name(page: KnowledgePage) -> str:
    return f"{build_slug(page.id)}.md"


def _build_header(page: KnowledgePage, other_fields: Mapping[str, Any]) -> str:
    """Write each value as JSON on its own line, which is YAML too; of the other fields only those with unknown names."""
    fields: dict[str, Any] = {
        "id": page.id,
        "title": page.title,
        "summary": page.summary,
        "tags": list(page.tags),
        **({"aliases": list(page.aliases)} if page.aliases else {}),
        "references": list(page.references),
        "created_at": page.created_at.isoformat() if page.created_at else "",
        "updated_at": page.updated_at.isoformat() if page.updated_at else "",
    }
    fields |= {name: value for name, value in other_fields.items() if name not in _KNOWN_NAMES}
    lines = (f"{_quote_name(name)}: {_quote(value)}\n" for name, value in fields.items())
    return f"---\n{''.join(lines)}---\n"


def _quote(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _quote_name(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else _quote(name)


def parse_header(header: str) -> dict[str, Any]:
    """Return the names and values of a header, which are strings, lists and objects of strings."""
    match = _HEADER.match(header)
    return (_parse_yaml(match["yaml"]) or {}) if match else {}


def _parse_yaml(text: str) -> dict[str, Any] | None:
    """Return names and values as strings, or None if the YAML is invalid or no mapping of names."""
    try:
        fields = yaml.load(text, Loader=_Loader)  # noqa: S506 - this loader makes texts only
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    if fields is None or fields == "":
        return {}
    if not isinstance(fields, dict) or not all(isinstance(name, str) for name in fields):
        return None
    return fields


_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _get_text(fields: Mapping[str, Any], *names: str) -> str:
    values = (fields[name] for name in names if isinstance(fields.get(name), str))
    return next((value.strip() if names == ("id",) else value for value in values), "")


def _get_texts(fields: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str):
            return tuple(part.strip() for part in re.split(r"[,，]", value) if part.strip())
        if isinstance(value, list):
            return tuple(item for item in value if isinstance(item, str))
    return ()


def _get_time(fields: Mapping[str, Any], *names: str) -> datetime | None:
    for name in names:
        try:
            moment = datetime.fromisoformat(_get_text(fields, name).strip())
        except ValueError:
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _compute_digest(page: KnowledgePage, fields: Mapping[str, Any]) -> str:
    """Hash the header's values, without a time that the header lacks, because the import set it to the present."""
    values = [page.id, page.title, page.summary, page.tags, page.aliases, page.references]
    times = ((_CREATED, page.created_at), (_UPDATED, page.updated_at))
    values += [str(time) for names, time in times if _get_time(fields, *names)]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
