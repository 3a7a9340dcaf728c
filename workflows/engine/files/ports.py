"""The ports for files: reading and storing their contents, and taking the text out of documents.

A file in a workflow is a value with its name and its type (``values.is_file``). Its content never is: a node asks for
it, and the port checks that the run may have it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from workflows.engine.language.document import Json


MAX_FILE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NewFile:
    """A content that a step has got, such as the file in a response."""

    content: bytes
    name: str
    url: str = ""  # from which it came


class FilePort(Protocol):
    async def read(self, file: Mapping[str, Json], *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of a file: of a stored one that belongs to the run's person, or one on the web.

        Raises ``engine.errors.FileUnavailable`` for any other, and for one that is larger than ``max_bytes``.
        """
        ...

    async def store(self, new: NewFile) -> dict[str, Json]:
        """Store a content for the run's person and return the file. Raises FileUnavailable if it can't be stored."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """A document to read. With ``marks_pages``, a form feed stands between the pages of a PDF."""

    content: bytes
    name: str
    marks_pages: bool = False


class DocumentPort(Protocol):
    async def extract_text(self, request: DocumentRequest) -> str:
        """Return the text of a document. Raises ``engine.errors.DocumentUnreadable`` with a sentence for people."""
        ...
