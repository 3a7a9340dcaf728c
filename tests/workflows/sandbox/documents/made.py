"""Documents as people send them, made by the libraries that write them, and hostile ones, made by hand."""

import base64
import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import docx
import openpyxl
import pptx
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


OFFICE = "http://schemas.openxmlformats.org"
RELATIONSHIPS = f"{OFFICE}/package/2006/relationships"
DOCTYPE = '<!DOCTYPE x [<!ENTITY a "{}">{}]>'


def save(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def archive(entries: Mapping[str, str | bytes], *, stored: tuple[str, ...] = ()) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in entries.items():
            method = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            target.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def changed(content: bytes, **replacements: str | bytes) -> bytes:
    """Return an archive with other entries; ``__`` stands for a slash and ``_dot_`` for a dot."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        entries: dict[str, str | bytes] = {name: source.read(name) for name in source.namelist()}
    for name, text in replacements.items():
        entries[name.replace("__", "/").replace("_dot_", ".")] = text
    return archive(entries)


def make_docx(*paragraphs: str) -> bytes:
    document = docx.Document()
    document.add_heading("Minutes", 1)
    for text in paragraphs or ("The budget is 4,711 euros.",):
        document.add_paragraph(text)
    table = document.add_table(2, 2)
    for row, cells in zip(table.rows, (("who", "what"), ("Ana", "buys | tea")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    return save(document)


def make_xlsx() -> bytes:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Sales"
    sheet.append(["city", "sold", "share"])
    sheet.append(["Rome", 12, 0.5])
    sheet.append([None, None, None])
    sheet.append(["=1+1", 3.0, None])
    workbook.create_sheet("Empty")
    workbook.create_sheet("More").append(["x"])
    return save(workbook)


def make_pptx() -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Plan"
    slide.placeholders[1].text = "Launch in May"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "in a group"
    slide.notes_slide.notes_text_frame.text = "say hello"
    return save(presentation)


def make_pdf(text: str = "The code is 4711.", **encryption: Any) -> bytes:
    writer = PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    fonts = DictionaryObject({NameObject("/F1"): font})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = DecodedStreamObject()
    stream.set_data(f"BT /F1 12 Tf 20 150 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = stream
    if encryption:
        writer.encrypt(**encryption)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def make_epub(
    chapters: Mapping[str, str] | None = None, opf: str = "", container: str = ""
) -> bytes:
    chapters = chapters or {"c2.xhtml": "<h1>Two</h1>", "c1.xhtml": "<p>One &amp; only</p>"}
    items = "".join(f'<item id="i{n}" href="{name}"/>' for n, name in enumerate(chapters))
    spine = '<itemref idref="i1"/><itemref idref="i0"/>'
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container
            or '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": opf
            or f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>",
            **{
                f"OEBPS/{name}": f"<html><body>{text}</body></html>"
                for name, text in chapters.items()
            },
        },
        stored=("mimetype",),
    )


def make_odt(content: str = "") -> bytes:
    body = content or (
        '<o:doc xmlns:o="urn:o" xmlns:t="urn:t"><t:h t:outline-level="2">Head</t:h><t:p>One <t:span>two'
        "</t:span></t:p><o:table><o:table-row><o:table-cell><t:p>a</t:p></o:table-cell></o:table-row></o:table></o:doc>"
    )
    kind = "application/vnd.oasis.opendocument.text"
    return archive({"mimetype": kind, "content.xml": body}, stored=("mimetype",))


def make_mail(**parts: str) -> bytes:
    return (
        b"From: Ana <ana@example.org>\r\nTo: ben@example.org\r\nSubject: =?utf-8?q?Tee_f=C3=BCr_zwei?=\r\n"
        b"Date: Fri, 27 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
        b"<p>See you <b>at four</b></p>\r\n--b\r\nContent-Type: application/pdf\r\n"
        b"Content-Disposition: attachment; filename=menu.pdf\r\n\r\nxx\r\n--b--\r\n"
    )


def laughs(levels: int = 9, *, root: str = "lol") -> str:
    """Return the billion laughs: a kilobyte of entities that expands to gigabytes."""
    entities = '<!ENTITY l0 "lol">' + "".join(
        f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, levels + 1)
    )
    return f"<!DOCTYPE {root} [{entities}]><{root}>&l{levels};</{root}>"


def outside(address: str, *, root: str = "x") -> str:
    """Return XML with an entity that is read from an address."""
    return f'<!DOCTYPE {root} [<!ENTITY e SYSTEM "{address}">]><{root}>&e;</{root}>'


def png(width: int, height: int) -> bytes:
    """Return an image of which only the head says how large it is."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(b"\0" * 64))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pixels + chunk(b"IEND", b"")


def pdf_bomb(megabytes: int) -> bytes:
    """Return a PDF whose only page has a stream of zeros, packed twice."""
    data = zlib.compress(zlib.compress(b" " * megabytes * 1024**2, 1), 1)
    head = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n"
    )
    stream = f"4 0 obj<</Length {len(data)}/Filter[/FlateDecode/FlateDecode]>>stream\n".encode()
    return head + stream + data + b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF"


def circular_pdf() -> bytes:
    return (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
        b"2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Parent 2 0 R/Count 99999999>>endobj\n"
        b"trailer<</Root 1 0 R>>\n%%EOF"
    )


def sheet(xml: str) -> bytes:
    """Return a workbook with a sheet written by hand."""
    return changed(make_xlsx(), xl__worksheets__sheet1_dot_xml=xml)


SHEET = (
    f'<worksheet xmlns="{OFFICE}/spreadsheetml/2006/main"><dimension ref="A1:XFD1048576"/><sheetData>{{}}'
    "</sheetData></worksheet>"
)


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()
