"""Documents of every format are read, by their content and whatever their names are."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.workflows.sandbox.documents import made
from workflows.engine.errors import DocumentUnreadable
from workflows.engine.files.ports import DocumentRequest
from workflows.sandbox.documents.extractor import DocumentPool


@pytest.fixture(scope="module")
def documents() -> Iterator[DocumentPool]:
    pool = DocumentPool()
    yield pool
    pool.close()


def read(documents: DocumentPool, content: bytes, name: str) -> str:
    return asyncio.run(documents.extract_text(DocumentRequest(content, name)))


@pytest.mark.parametrize(
    ("content", "name", "text"),
    [
        (b"plain \xe2\x82\xac", "a.txt", "plain €"),
        ("中文 text text".encode("gb18030"), "a.txt", "中文 text text"),
        ("größer".encode("utf-16"), "a.txt", "größer"),
        (b"# Head\n\nbody", "a.md", "# Head\n\nbody"),
        (b'{"a": [1, 2]}', "a.json", '{"a": [1, 2]}'),
        (b"a: &x 1\nb: *x\n", "a.yaml", "a: &x 1\nb: *x"),
        (b"<html><body><h1>T</h1><p>x &amp; y</p></body></html>", "a.bin", "# T\n\nx & y"),
        (b"a;b\n1;2|3\n", "a.csv", "| a | b |\n| --- | --- |\n| 1 | 2\\|3 |"),
        (
            made.make_docx(), "a.docx",
            "# Minutes\n\nThe budget is 4,711 euros.\n\n| who | what |\n| --- | --- |\n| Ana | buys \\| tea |",
        ),
        (
            made.make_xlsx(), "wrong.docx",
            ("## Sales\n\n| city | sold | share |\n| --- | --- | --- |\n| Rome | 12 | 0.5 |\n| =1+1 | 3 |  |\n\n"
            "## More\n\n| x |\n| --- |"),
        ),
        # A formula whose value was saved and is shown, and one whose value was not.
        (
            made.sheet(made.SHEET.format('<row r="1"><c r="A1"><f>1+1</f><v>2</v></c><c r="B1"><f>SUM(A1:A3)</f></c></row>')),
            "a.xlsx", "## Sales\n\n| 2 | =SUM(A1:A3) |\n| --- | --- |\n\n## More\n\n| x |\n| --- |",
        ),
        (made.make_pptx(), "a.pptx", "## Slide 1: Plan\n\nLaunch in May\n\nin a group\n\nNotes: say hello"),
        (made.make_pdf(), "a.pdf", "The code is 4711."),
        (made.make_pdf(user_password="", owner_password="o", algorithm="AES-256"), "a.pdf", "The code is 4711."),
        (made.make_epub(), "a.epub", "One & only\n\n# Two"),
        (made.make_odt(), "a.odt", "## Head\n\nOne two\n\n| a |\n| --- |"),
        (
            made.make_mail(), "a.eml",
            ("Subject: Tee für zwei\nFrom: Ana <ana@example.org>\nTo: ben@example.org\n"
            "Date: Fri, 27 Nov 2026 10:00:00 +0000\n\nSee you at four\n\nAttachments: menu.pdf"),
        ),
        (
            b"WEBVTT\n\nNOTE x\n\n1\n00:01.000 --> 00:02.000\n<v Ann>Hi <i>you</i>\n\n00:03.000 --> 00:04.000\nBye\n",
            "a.vtt", "Ann: Hi you\nBye",
        ),
        (b"1\n00:00:01,000 --> 00:00:02,000\nHello\n", "a.srt", "Hello"),
    ],
)  # fmt: skip
def test_document_is_read(documents: DocumentPool, content: bytes, name: str, text: str) -> None:
    assert read(documents, content, name) == text


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (made.png(2, 2), "cat.png", "cat.png is an image, which has no text to take out"),
        (b"ID3\x03" + b"\0" * 50, "a.mp3", "a.mp3 is audio or video"),
        (b"MZ\x90\0" + b"\0" * 80, "a.pdf", "a.pdf has a format that can't be read"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, "old.doc", "old.doc has a format"),
        (made.make_pdf(user_password="secret"), "a.pdf", "a.pdf is protected by a password"),
        (made.make_pdf(""), "scan.pdf", "scan.pdf has pages but no text"),
    ],
)
def test_document_that_has_no_text_is_explained(
    documents: DocumentPool, content: bytes, name: str, message: str
) -> None:
    with pytest.raises(DocumentUnreadable) as raised:
        read(documents, content, name)

    assert raised.value.message.startswith(message)


def test_long_text_is_cut_and_says_so(documents: DocumentPool) -> None:
    text = read(documents, b"word " * 300_000, "a.txt")

    assert len(text) == 1_000_000 + len("\n\n[…]")
    assert text.endswith("[…]")
