"""Opens the archives of documents after a look at their table of contents, and parses XML without entities."""

import io
import zipfile
from typing import Any, Final

from defusedxml import DefusedXmlException, ElementTree

from workflows.sandbox.documents.failures import Unreadable


MAX_ENTRIES: Final = 5_000
MAX_UNPACKED_BYTES: Final = 150 * 1024 * 1024
MAX_RATIO: Final = 300  # of unpacked to packed bytes, above which a large entry is no document
_SMALL: Final = 4 * 1024 * 1024
_ENCRYPTED: Final = 0x1


def open_archive(content: bytes) -> zipfile.ZipFile:
    """Open a zip file. Raises Unreadable for one that would unpack to far more than a document has."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
        raise Unreadable("broken", "zip") from None
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise Unreadable("bomb", f"{len(entries)} entries")
    if any(entry.flag_bits & _ENCRYPTED for entry in entries):
        raise Unreadable("password")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        raise Unreadable("bomb")
    for entry in entries:
        if entry.file_size > max(_SMALL, entry.compress_size * MAX_RATIO):
            raise Unreadable("bomb")
    return archive


def check_archive(content: bytes) -> io.BytesIO:
    """Return the content for a library that opens it itself, after the checks of ``open_archive``."""
    open_archive(content).close()
    return io.BytesIO(content)


def read_entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an entry by its name. A name is looked up in the archive alone, so it can lead nowhere else."""
    try:
        return archive.read(name)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError):
        raise Unreadable("broken", "zip") from None


def parse_xml(content: bytes) -> Any:  # the package has no types
    """Return the root element. Raises Unreadable for a document type, an entity or anything else that isn't plain XML."""
    try:
        return ElementTree.fromstring(
            content, forbid_dtd=True, forbid_entities=True, forbid_external=True
        )
    except DefusedXmlException:
        raise Unreadable("entities") from None
    except (ElementTree.ParseError, ValueError, LookupError):
        raise Unreadable("broken", "XML") from None


def get_local_name(tag: object) -> str:
    """Return the name of an element without its namespace, or "" for a comment."""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
