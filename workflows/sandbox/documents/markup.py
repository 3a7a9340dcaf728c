"""Reads pages, books and OpenDocument texts; used in a runner only."""

import posixpath
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from workflows.engine.tools.html_text import extract_text
from workflows.sandbox.documents.archives import (
    get_local_name,
    open_archive,
    parse_xml,
    read_entry,
)
from workflows.sandbox.documents.failures import Unreadable
from workflows.sandbox.documents.plain import read_text
from workflows.sandbox.documents.tables import build_table


MAX_CHAPTERS: Final = 2_000
MAX_CHARACTERS: Final = 1_200_000  # more than a reply has
_CONTAINER: Final = "META-INF/container.xml"


def read_html(content: bytes) -> str:
    return _read_page(content)


def read_epub(content: bytes) -> str:
    """Return the chapters in the order in which they are read."""
    with open_archive(content) as archive:
        names = frozenset(archive.namelist())
        package = _find_package(read_entry(archive, _CONTAINER))
        texts, size = [], 0
        for name in _list_chapters(read_entry(archive, package), posixpath.dirname(package)):
            if name in names:  # an address, or a file that is missing, is no chapter
                texts.append(_read_page(read_entry(archive, name)))
                size += len(texts[-1])
            if size > MAX_CHARACTERS:
                break
    return "\n\n".join(filter(None, texts))


def read_open_document(content: bytes) -> str:
    """Return headings, paragraphs and tables of a text, a sheet or a presentation."""
    with open_archive(content) as archive:
        root = parse_xml(read_entry(archive, "content.xml"))
    return "\n\n".join(filter(None, _walk(root)))


def _read_page(content: bytes) -> str:
    page = extract_text(read_text(content))
    is_titled = page.title and page.title not in page.text[:500]
    return f"# {page.title}\n\n{page.text}" if is_titled else page.text


def _find_package(container: bytes) -> str:
    for element in parse_xml(container).iter():
        if get_local_name(element.tag) == "rootfile" and element.get("full-path"):
            return str(element.get("full-path"))
    raise Unreadable("broken", "EPUB")


def _list_chapters(package: bytes, folder: str) -> Iterator[str]:
    root = parse_xml(package)
    paths: dict[str, str] = {}
    order: list[str] = []
    for element in root.iter():
        name = get_local_name(element.tag)
        if name == "item" and element.get("href"):
            path = posixpath.join(folder, unquote(str(element.get("href"))))
            paths[str(element.get("id"))] = posixpath.normpath(path)
        elif name == "itemref":
            order.append(str(element.get("idref")))
    return (paths[item] for item in order[:MAX_CHAPTERS] if item in paths)


def _walk(root: Any) -> Iterator[str]:
    """Yield the texts of an OpenDocument body in their order, without recursion: documents may be nested deeply."""
    stack = [root]
    while stack:
        element = stack.pop()
        name = get_local_name(element.tag)
        if name in ("h", "p"):
            text = " ".join("".join(element.itertext()).split())
            level = next((v for k, v in element.items() if k.endswith("}outline-level")), "1")
            prefix = f"{'#' * min(6, int(level))} " if name == "h" and level.isdigit() else ""
            yield prefix + text if text else ""
        elif name == "table":
            yield build_table(_read_rows(element))
        else:
            stack += reversed(element)


def _read_rows(table: Any) -> Iterator[list[str]]:
    for row in table.iter():
        if get_local_name(row.tag) == "table-row":
            yield [
                "".join(cell.itertext())
                for cell in row
                if get_local_name(cell.tag) in ("table-cell", "covered-table-cell")
            ]
