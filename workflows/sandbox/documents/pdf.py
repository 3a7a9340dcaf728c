"""Reads PDF documents; used in a runner only."""

import io
from typing import Final

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

from workflows.sandbox.documents.failures import Unreadable


MAX_PAGES: Final = 3_000
MAX_CHARACTERS: Final = 1_200_000  # more than a reply has


def read_pdf(content: bytes) -> str:
    """Return the text of the pages. Raises Unreadable for a protected document, and for one that is only scanned."""
    return "\n\n".join(filter(None, _read_texts(content)))


def read_pages(content: bytes) -> str:
    """Return the text with a form feed between each two pages."""
    return "\f".join(text.replace("\f", "\n") for text in _read_texts(content))


def _read_texts(content: bytes) -> list[str]:
    try:
        reader = PdfReader(io.BytesIO(content), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("password")
        texts, size = [], 0
        for _number, page in zip(range(MAX_PAGES), reader.pages, strict=False):
            texts.append(page.extract_text().strip())
            size += len(texts[-1])
            if size > MAX_CHARACTERS:
                break
    except (FileNotDecryptedError, DependencyError):
        raise Unreadable("password") from None
    except PyPdfError as error:
        raise Unreadable("broken", type(error).__name__) from None
    if not size and texts:
        raise Unreadable("scan")
    return texts
