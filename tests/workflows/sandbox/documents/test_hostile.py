"""Forty hostile documents: each ends within its limits, reaches nothing, and is answered with a text or a sentence."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.process_use import RunnerUse
from tests.workflows.sandbox.documents import made
from workflows.engine.errors import DocumentUnreadable
from workflows.engine.files.ports import DocumentRequest
from workflows.sandbox.documents.extractor import DocumentPool


CANARY = "canary-in-a-file-of-the-host"
WRITTEN = f"written-{uuid4()}"  # in the folder for temporary files, which all workers share
MAX_CPU = 20 + 5  # seconds of the processor that one document may take, and the start of its runner
MAX_MEMORY = 800 * 1024  # kilobytes of a runner, its libraries included


@dataclass(frozen=True)
class Where:
    """What a document tries to reach: a file of the host, and a server."""

    file: Path
    address: str


def external_relationship(document: bytes, part: str, kind: str, target: str) -> bytes:
    """Return an Office document with a relationship to an address outside, as remote templates have it."""
    text = (
        f'<Relationships xmlns="{made.RELATIONSHIPS}"><Relationship Id="rIdX" Target="{target}" TargetMode="External" '
        f'Type="{made.OFFICE}/officeDocument/2006/relationships/{kind}"/></Relationships>'
    )
    return made.changed(document, **{part: text})


def zip_bomb(name: str = "xl/workbook.xml", megabytes: int = 40) -> bytes:
    return made.archive({name: b"\0" * megabytes * 1024**2})


def deep_mail(depth: int = 3_000) -> bytes:
    head = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(depth)
    )
    return f"Subject: x\n{head}text".encode()


def overlong_names(count: int) -> bytes:
    return made.archive({f"word/{n}.xml": "" for n in range(count)} | {"word/document.xml": "<x/>"})


def truncated(content: bytes, share: float = 0.6) -> bytes:
    return content[: int(len(content) * share)]


def lying_archive() -> bytes:
    """Return an archive whose table of contents says that its only entry is small."""
    content = bytearray(made.archive({"word/document.xml": b"\0" * 5 * 1024**2}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = content.index(mark) + offset
        content[start : start + 4] = (10).to_bytes(4, "little")
    return bytes(content)


def encrypted_zip() -> bytes:
    content = bytearray(made.make_docx())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := content.find(mark, start + 1)) >= 0:
            content[start + offset] |= 1
    return bytes(content)


def deep_odt() -> bytes:
    return made.make_odt("<a>" * 100_000 + "</a>" * 100_000)


def many_cells() -> bytes:
    row = "".join(f'<c r="XFD{n}"><v>1</v></c>' for n in range(1))
    rows = "".join(f'<row r="{n}">{row}</row>' for n in range(1, 4_000))
    return made.sheet(made.SHEET.format(rows))


# Name → the content and the file's name. Each is made when its test needs it.
HOSTILE: Mapping[str, tuple[Callable[[Where], bytes], str]] = {
    "zip bomb": (lambda _: zip_bomb(megabytes=200), "a.xlsx"),
    "zip bomb in a Word document": (lambda _: zip_bomb("word/document.xml"), "a.docx"),
    "zip bomb in a deck": (lambda _: zip_bomb("ppt/presentation.xml"), "a.pptx"),
    "zip bomb in a book": (
        lambda _: made.archive({"mimetype": "application/epub+zip", "META-INF/container.xml": b" " * 10**7},
                               stored=("mimetype",)), "a.epub"),
    "many small entries": (lambda _: overlong_names(6_000), "a.docx"),
    "nested zips": (
        lambda _: made.archive({"word/document.xml": made.archive({"a.zip": zip_bomb(megabytes=20)})}), "a.docx"),
    "lying table of contents": (lambda _: lying_archive(), "a.docx"),
    "encrypted entries": (lambda _: encrypted_zip(), "a.docx"),
    "paths out of the archive": (
        lambda _: made.archive({"word/document.xml": "<x/>", f"../../../tmp/{WRITTEN}": CANARY}), "a.docx"),
    "chapter outside of the book": (
        lambda w: made.make_epub({f"../../../../{w.file}": "x", "c.xhtml": "y"}), "a.epub"),
    "package file outside of the book": (
        lambda w: made.make_epub(
            container=f'<c><rootfile full-path="/{w.file}"/></c>'), "a.epub"),
    "billion laughs in a Word document": (
        lambda _: made.changed(made.make_docx(), word__document_dot_xml=made.laughs()), "a.docx"),
    "billion laughs in a sheet": (lambda _: made.sheet(made.laughs(root="worksheet")), "a.xlsx"),
    "billion laughs in shared strings": (
        lambda _: made.changed(made.make_xlsx(), xl__sharedStrings_dot_xml=made.laughs(root="sst")), "a.xlsx"),
    "billion laughs in a slide": (
        lambda _: made.changed(made.make_pptx(), ppt__slides__slide1_dot_xml=made.laughs()), "a.pptx"),
    "billion laughs in OpenDocument": (lambda _: made.make_odt(made.laughs()), "a.odt"),
    "billion laughs in a book": (lambda _: made.make_epub(opf=made.laughs()), "a.epub"),
    "entity from a file": (
        lambda w: made.changed(made.make_docx(), word__document_dot_xml=made.outside(f"file://{w.file}")), "a.docx"),
    "entity from a file in a sheet": (
        lambda w: made.sheet(made.outside(f"file://{w.file}", root="worksheet")), "a.xlsx"),
    "entity from the network": (
        lambda w: made.changed(made.make_pptx(), ppt__slides__slide1_dot_xml=made.outside(w.address)), "a.pptx"),
    "entity from the network in OpenDocument": (lambda w: made.make_odt(made.outside(w.address)), "a.odt"),
    "remote template": (
        lambda w: external_relationship(
            made.make_docx(), "word___rels__settings_dot_xml_dot_rels", "attachedTemplate", w.address), "a.docx"),
    "remote image": (
        lambda w: external_relationship(
            made.make_docx(), "word___rels__document_dot_xml_dot_rels", "image", w.address), "a.docx"),
    "external workbook": (
        lambda w: external_relationship(
            made.make_xlsx(), "xl__externalLinks___rels__externalLink1_dot_xml_dot_rels", "externalLinkPath", w.address),
        "a.xlsx"),
    "macros": (lambda _: made.changed(made.make_docx(), word__vbaProject_dot_bin=b"\xd0\xcf\x11\xe0" * 99), "a.docm"),
    "sheet with the largest size": (
        lambda _: made.sheet(made.SHEET.format('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')), "a.xlsx"),
    "sheet with far cells": (lambda _: many_cells(), "a.xlsx"),
    "formulas in a table": (lambda _: b'name,value\n=cmd|"/c calc"!A1,@SUM(1)\n', "a.csv"),
    "table of one endless field": (lambda _: b'"' + b"a" * 5_000_000, "a.csv"),
    "PDF bomb": (lambda _: made.pdf_bomb(100), "a.pdf"),
    "PDF with a circle of pages": (lambda _: made.circular_pdf(), "a.pdf"),
    "PDF with a password": (lambda _: made.make_pdf(user_password="x", algorithm="AES-256"), "a.pdf"),
    "truncated PDF": (lambda _: truncated(made.make_pdf()), "a.pdf"),
    "truncated Word document": (lambda _: truncated(made.make_docx()), "a.docx"),
    "huge image": (lambda _: made.png(100_000, 100_000), "a.png"),
    "polyglot of PDF and zip": (lambda _: made.make_pdf() + made.make_docx(), "a.pdf"),
    "page in a picture's name": (lambda _: b"<html><script>alert(1)</script><p>x</p></html>", "a.png"),
    "deep JSON": (lambda _: b"[" * 2_000_000, "a.json"),
    "deep elements": (lambda _: deep_odt(), "a.odt"),
    "page of open tags": (lambda _: b"<html>" + b"<div" * 900_000, "a.html"),
    "mail in mails": (lambda _: deep_mail(), "a.eml"),
    "YAML of aliases": (
        lambda _: ("a: &a [x]\n" + "".join(f"k{n}: &k{n} [*a, *a, *a]\n" for n in range(9_999))).encode(), "a.yaml"),
}  # fmt: skip


@pytest.fixture(scope="module")
def documents() -> Iterator[DocumentPool]:
    pool = DocumentPool()
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def listener() -> Iterator[Any]:
    """A server that counts who comes. Nobody may."""
    server = socket.create_server(("127.0.0.1", 0))
    visitors: list[Any] = []

    def accept() -> None:
        while True:
            try:
                visitors.append(server.accept()[1])
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1], visitors
    server.close()


def test_there_are_forty() -> None:
    assert len(HOSTILE) >= 40


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_document_reaches_nothing(
    name: str, documents: DocumentPool, listener: Any, tmp_path: Path
) -> None:
    port, visitors = listener
    secret = tmp_path / "secret.txt"
    secret.write_text(CANARY)
    make, file_name = HOSTILE[name]
    content = make(Where(secret, f"http://127.0.0.1:{port}/"))
    before = list_written(tmp_path)

    with RunnerUse(documents.pool) as use:
        text = read(documents, content, file_name)

    assert CANARY not in text
    assert list_written(tmp_path) == before
    assert not Path("/tmp", WRITTEN).exists()
    assert visitors == []
    assert use.cpu_seconds < MAX_CPU
    assert use.kilobytes < MAX_MEMORY
    assert all(limit and limit < MAX_MEMORY for limit in use.address_limits.values())


def test_runner_is_measured_and_has_limits(documents: DocumentPool) -> None:
    with RunnerUse(documents.pool) as use:
        text = read(documents, made.make_docx(), "a.docx")

    assert text
    assert use.cpu_seconds > 0
    assert use.kilobytes > 20 * 1024  # more than bubblewrap around it has
    assert use.address_limits
    assert all(limit and limit < MAX_MEMORY for limit in use.address_limits.values())


def read(documents: DocumentPool, content: bytes, name: str) -> str:
    """Return the text, or the sentence for people. Any other error is a failure of the test."""
    try:
        return asyncio.run(documents.extract_text(DocumentRequest(content, name)))
    except DocumentUnreadable as error:
        return error.message


def list_written(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))
