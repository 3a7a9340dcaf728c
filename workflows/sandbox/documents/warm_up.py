"""Uses each library once before the runner is restricted, because many modules are imported at their first use."""

import codecs
import contextlib
import io
import time
import zipfile
from collections.abc import Iterator

import docx
import openpyxl
import pptx
from pypdf import PdfWriter

from workflows.sandbox.documents import formats, plain


# Texts and mails may name any of these.
_ENCODINGS = (
    *(
        "ascii",
        "utf-8",
        "utf-8-sig",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "latin-1",
        "idna",
    ),
    *("cp1252", "cp1250", "cp1251", "iso8859-2", "iso8859-15", "koi8-r", "mac-roman", "punycode"),
    *("gb18030", "gbk", "gb2312", "big5", "shift_jis", "euc_jp", "iso2022_jp", "euc_kr"),
    *("unicode-escape", "raw-unicode-escape", "quopri", "base64", "charmap"),
)
_MAIL = (
    b"Subject: =?utf-8?q?Hall=C3=B6?=\r\nFrom: a@example.org\r\nTo: b@example.org\r\n"
    b"Date: Fri, 27 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n"
    b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/html; charset=utf-8\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\nPHA+SGk8L3A+\r\n--x\r\n"
    b"Content-Disposition: attachment; filename=a.txt\r\n\r\nhi\r\n--x--\r\n"
)


def use_libraries() -> None:
    for name in _ENCODINGS:
        with contextlib.suppress(LookupError):
            codecs.lookup(name)
    time.localtime()
    for media_type, content in _build_samples():
        formats._read(formats.READERS[media_type], content)
    formats._read(plain.read_mail, _MAIL)


def _build_samples() -> Iterator[tuple[str, bytes]]:
    office = "application/vnd.openxmlformats-officedocument"
    document = docx.Document()
    document.add_heading("A", 1)
    document.add_table(1, 1).cell(0, 0).text = "a"
    yield f"{office}.wordprocessingml.document", _save(document)
    workbook = openpyxl.Workbook()
    workbook.active.append(["a", 1, 2.5])
    yield f"{office}.spreadsheetml.sheet", _save(workbook)
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "A"
    slide.shapes.add_table(1, 1, 0, 0, 1, 1).table.cell(0, 0).text = "a"
    slide.notes_slide.notes_text_frame.text = "n"
    yield f"{office}.presentationml.presentation", _save(presentation)
    writer = PdfWriter()
    writer.add_blank_page(72, 72)
    yield "application/pdf", _write(writer)
    writer.encrypt("", "owner", algorithm="AES-256")
    yield "application/pdf", _write(writer)
    yield "text/html", b"<html><body><p>A &amp; b</p></body></html>"
    yield "text/csv", b"a,b\n1,2\n"
    yield (
        "application/vnd.oasis.opendocument.text",
        _build_archive("content.xml", b"<a><p>x</p></a>"),
    )


def _save(document: object) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)  # type: ignore[attr-defined]  # of three libraries
    return buffer.getvalue()


def _write(writer: PdfWriter) -> bytes:
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def _build_archive(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()
