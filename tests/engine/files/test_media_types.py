"""The type of a file is that of its content, whatever its name says."""

import io
import zipfile

import pytest

from tests.support.cases import for_each
from workflows.engine.files.media_types import (
    clean_name,
    detect_type,
    get_served_type,
    is_shown_inline,
)


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30
SVG = (
    b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
)
HTML = b"<!DOCTYPE html><html><script>alert(1)</script></html>"


def zipped(**entries: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in entries.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), text)
    return buffer.getvalue()


@for_each("content, name, media_type, kind, extension",
    [
        (PNG, "a.png", "image/png", "image", ".png"),
        (PNG, "a.pdf", "image/png", "image", ".png"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 20, "a.jpeg", "image/jpeg", "image", ".jpeg"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "scan", "application/pdf", "document", ".pdf"),
        (HTML, "a.png", "text/html", "document", ".html"),
        (HTML, "notes.txt", "text/html", "document", ".html"),
        (SVG, "logo.png", "image/svg+xml", "custom", ".svg"),
        (b"\xef\xbb\xbf  <svg/>", "a.txt", "image/svg+xml", "custom", ".svg"),
        (b"hello", "a.txt", "text/plain", "document", ".txt"),
        (b"BM is how this text begins", "a.txt", "text/plain", "document", ".txt"),
        (b"print(1)", "a.py", "text/plain", "document", ".py"),
        (b"a,b\n1,2", "A.CSV", "text/csv", "document", ".csv"),
        (b"# Title", "a.md", "text/markdown", "document", ".md"),
        ("中文".encode("gb18030") * 3 + b" and more text", "a.txt", "text/plain", "document", ".txt"),
        ("\ufeffhi".encode("utf-16"), "a.txt", "text/plain", "document", ".txt"),
        (b"MZ\x90\0" + b"\0" * 80, "report.pdf", "application/x-msdownload", "custom", ".exe"),
        (b"\0\1\2\3" * 9, "a.txt", "application/octet-stream", "custom", ""),
        (zipped(a_txt="x"), "a.docx", "application/zip", "custom", ".zip"),
        (zipped(mimetype="application/epub+zip"), "b", "application/epub+zip", "document", ".epub"),
        (
            zipped(word__document_xml="<w/>"), "a.zip",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "document", ".docx",
        ),
    ],
)  # fmt: skip
def test_content_decides_the_type(
    content: bytes, name: str, media_type: str, kind: str, extension: str
) -> None:
    found = detect_type(content, name)

    assert (found.name, found.kind, found.extension) == (media_type, kind, extension)


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\a.txt", "a.txt"),
        ("a\0b\r\n\u202egnp.exe", "abgnp.exe"),
        ("..", "file"),
        ("", "file"),
        ("x" * 300 + ".pdf", "x" * 196 + ".pdf"),
    ],
)
def test_name_is_cleaned(name: str, cleaned: str) -> None:
    assert clean_name(name) == cleaned


@pytest.mark.parametrize(
    "media_type", ["text/html", "image/svg+xml", "application/xml", "text/plain"]
)
def test_what_a_browser_could_run_is_served_as_bytes(media_type: str) -> None:
    assert get_served_type(media_type) == "application/octet-stream"
    assert not is_shown_inline(media_type)
