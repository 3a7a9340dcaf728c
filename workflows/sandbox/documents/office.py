"""Reads Word and PowerPoint documents; used in a runner only. Macros and linked parts are never looked at."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import docx
import pptx
from docx.oxml.ns import qn
from docx.table import Table
from pptx.enum.shapes import MSO_SHAPE_TYPE

from workflows.sandbox.documents.archives import check_archive
from workflows.sandbox.documents.tables import build_table


MAX_SLIDES: Final = 2_000
MAX_DEPTH: Final = 20  # of groups in groups
MAX_CHARACTERS: Final = 1_200_000  # more than a reply has


def read_docx(content: bytes) -> str:
    """Return headings, paragraphs and tables in their order, as Markdown."""
    document = docx.Document(check_archive(content))
    return _join(
        _read_word_table(item) if isinstance(item, Table) else _read_paragraph(item)
        for item in document.iter_inner_content()
    )


def read_pptx(content: bytes) -> str:
    """Return the texts, tables and notes of each slide, under its number and title."""
    presentation = pptx.Presentation(check_archive(content))
    return _join(_read_slides(presentation))


def _join(texts: Iterable[str]) -> str:
    parts: list[str] = []
    size = 0
    for text in texts:
        if text:
            parts.append(text)
            size += len(text)
        if size > MAX_CHARACTERS:
            break
    return "\n\n".join(parts)


def _read_paragraph(paragraph: Any) -> str:
    text = paragraph.text.strip()
    style = (paragraph.style.name or "") if paragraph.style is not None else ""
    if text and style.startswith("Heading ") and style[8:].isdigit():
        return f"{'#' * min(6, int(style[8:]))} {text}"
    if text and style == "Title":
        return f"# {text}"
    return f"- {text}" if text and style.startswith("List ") else text


def _read_word_table(table: Any) -> str:
    # The elements, because the cells of python-docx take quadratic time in a large table.
    rows = (
        ["".join(node.text or "" for node in cell.iter(qn("w:t"))) for cell in row.tc_lst]
        for row in table._tbl.tr_lst
    )
    return build_table(rows)


def _read_slides(presentation: Any) -> Iterator[str]:
    for number, slide in zip(range(1, MAX_SLIDES + 1), presentation.slides, strict=False):
        title = slide.shapes.title
        name = title.text_frame.text.strip() if title is not None else ""
        yield f"## Slide {number}{': ' if name else ''}{' '.join(name.split())}"
        title_id = title.shape_id if title is not None else None
        yield from _read_shapes(slide.shapes, title_id)
        if slide.has_notes_slide:
            notes = slide.notes_slide.notes_text_frame
            text = notes.text.strip() if notes is not None else ""
            yield f"Notes: {text}" if text else ""


def _read_shapes(shapes: Any, title_id: int | None, depth: int = 0) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            yield from _read_shapes(shape.shapes, title_id, depth + 1)
        elif getattr(shape, "has_table", False):
            yield build_table([cell.text for cell in row.cells] for row in shape.table.rows)
        elif shape.has_text_frame and shape.shape_id != title_id:
            yield shape.text_frame.text.strip()
