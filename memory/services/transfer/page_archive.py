"""Export and import pages as a ZIP archive of Markdown files. Only the content filter changes their bytes."""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.core.errors import InvalidInput, ValueTooLarge
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_files import build_file_name, export_page
from memory.logic.knowledge.page_gate import build_quarantined_page, screen_file
from memory.logic.knowledge.pages import KnowledgePage, from_entry
from memory.services.gateway.audit_lines import record
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import open_entry, open_namespace
from memory.services.gateway.namespace_access import NamespaceAccess
from memory.services.knowledge.pages import MAX_PAGES, get_page_entry
from memory.services.transfer.exporting import check_can_export
from memory.services.transfer.import_report import DryRunEnd


MAX_ARCHIVE_BYTES = 20 * 1024 * 1024  # of all files together, unpacked
SUFFIXES = (".md", ".markdown", ".txt")
# A fixed time makes archives of the same pages identical; the files contain their own times.
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)
# Raised by ``zipfile`` for damage, a password, an unknown method of compression, or a truncated download.
_ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)


@dataclass(frozen=True, slots=True)
class PageFinding:
    """The findings in a page: the kinds of removed secrets, and the reasons why it is held in quarantine, if any."""

    file: str
    page_id: str
    secrets: tuple[str, ...]
    held_for: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageImport:
    """The result of an import: the pages in use, the names of skipped files, and the findings of the content filter."""

    pages: tuple[KnowledgePage, ...]
    skipped: tuple[str, ...]
    findings: tuple[PageFinding, ...] = ()

    @property
    def redacted_findings(self) -> tuple[PageFinding, ...]:
        return tuple(finding for finding in self.findings if finding.secrets)

    @property
    def held_findings(self) -> tuple[PageFinding, ...]:
        return tuple(finding for finding in self.findings if finding.held_for)

    @property
    def counts(self) -> dict[str, int]:
        return {"redacted": len(self.redacted_findings), "held": len(self.held_findings)}


@retry_on_conflict
def export_pages(caller: MemoryCaller, *, namespace: str) -> bytes:
    """Export all pages of a namespace as an archive. Raise AccessDenied under emergency access."""
    with open_namespace(caller, "view", "memory.exported", namespace=namespace) as access:
        check_can_export(access)
        pages = KnowledgeStore(access.text, access.open_store()).list_pages()
        archive = pack_archive(
            {name: export_page(page) for name, page in _name_files(pages).items()}
        )
        access.detail.update(keys=len(pages), bytes=len(archive), pages=True)
        return archive


@retry_on_conflict
def export_single_page(caller: MemoryCaller, *, entry_id: UUID | str) -> tuple[str, bytes]:
    """Export one page, and return the name and the content of its file."""
    with open_entry(caller, "view", "memory.exported", entry_id) as access:
        check_can_export(access)
        page = from_entry(get_page_entry(access, entry_id))
        data = export_page(page)
        access.detail.update(keys=1, bytes=len(data), pages=True, entry=str(entry_id))
        return build_file_name(page), data


@retry_on_conflict
def import_pages(
    caller: MemoryCaller,
    *,
    archive: bytes | None = None,
    files: Mapping[str, bytes] = MappingProxyType({}),
    scope: str | None = None,
    namespace: str | None = None,
    reason: str = "",
    dry_run: bool = False,
) -> PageImport:
    """Import a ZIP archive, files by name, or both, all pages or none.

    An existing page is replaced, and its old value stays as a revision. A page with instructions is held for a review
    instead. A dry run does the same and rolls it back.
    """
    page_files, skipped = _collect_files(archive, files)
    try:
        with open_namespace(
            caller, "write", "memory.stored", scope=scope, namespace=namespace
        ) as access:
            if dry_run and access.external is not None:
                raise InvalidInput("dry_run: not supported by external providers.")
            result = _import_files(access, page_files, skipped, reason or "import")
            if dry_run:
                raise DryRunEnd
    except DryRunEnd:
        detail = {"import": True, "pages": True, "keys": len(result.pages), **result.counts}
        with tenant([caller.team_id]):
            record(caller, "memory.rehearsed", "import", detail)
    return result


def _import_files(
    access: NamespaceAccess, files: Mapping[str, bytes], skipped: tuple[str, ...], reason: str
) -> PageImport:
    access.claim()
    screened_files = {
        name: screen_file(data, name=PurePosixPath(name).name, now=access.now)
        for name, data in files.items()
    }
    _check_ids({name: screened.page for name, screened in screened_files.items()})
    entries = access.open_store(reason)
    source = access.caller.source
    store = KnowledgeStore(access.text, entries, clock=lambda: access.now, source=source)
    pages: list[KnowledgePage] = []
    findings: list[PageFinding] = []
    for name, screened in screened_files.items():
        page, reasons = screened.page, screened.reasons
        existing = _find_identical(store, page.id, files[name]) if reasons else None
        if existing is not None:
            pages.append(existing)
            continue
        if reasons:
            entries.store(build_quarantined_page(store, page, reasons))
        else:
            pages.append(store.store_page(page))
        if screened.secrets or reasons:
            held_for = tuple(str(reason["reason"]) for reason in reasons)
            findings.append(PageFinding(name, page.id, screened.secrets, held_for))
    result = PageImport(tuple(pages), skipped, tuple(findings))
    counts = {name: count for name, count in result.counts.items() if count}
    access.detail.update(keys=len(screened_files), pages=True, imported=True, **counts)
    return result


def _find_identical(store: KnowledgeStore, page_id: str, data: bytes) -> KnowledgePage | None:
    """Return the existing page if it equals the file, so that its content needs no new review, or None."""
    page = store.get_page(page_id)
    return page if page is not None and export_page(page) == data else None


def _collect_files(
    archive: bytes | None, files: Mapping[str, bytes]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    archived, skipped = unpack_archive(archive) if archive is not None else ({}, ())
    page_files = {**archived, **{name: data for name, data in files.items() if _is_page_file(name)}}
    if not 1 <= len(page_files) <= MAX_PAGES:
        raise InvalidInput(f"files: from 1 to {MAX_PAGES} Markdown files.")
    return page_files, (*skipped, *(name for name in files if name not in page_files))


def pack_archive(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _FIXED_TIME), data, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def unpack_archive(data: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the contents of an archive's pages by file name, and the names of its other files. The sizes that the
    archive states are not trusted.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            page_members = [member for member in members if _is_page_file(member.filename)]
            if len(page_members) > MAX_PAGES:
                raise InvalidInput(f"archive: at most {MAX_PAGES} Markdown files.")
            files: dict[str, bytes] = {}
            remaining = MAX_ARCHIVE_BYTES
            for member in page_members:
                files[member.filename] = _read_member(archive, member, remaining)
                remaining -= len(files[member.filename])
            return files, tuple(
                member.filename for member in members if member.filename not in files
            )
    except _ARCHIVE_ERRORS as error:
        raise InvalidInput(_("archive: not a readable ZIP file.")) from error


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, max_bytes: int) -> bytes:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"compression method {member.compress_type} is not supported")
    with archive.open(member) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueTooLarge(f"archive: at most {MAX_ARCHIVE_BYTES} bytes, unpacked.")
    return data


def _is_page_file(name: str) -> bool:
    """Return whether the file is a page. Hidden files of macOS and editors are not."""
    path = PurePosixPath(name)
    is_hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return path.suffix.lower() in SUFFIXES and not is_hidden


def _check_ids(pages: Mapping[str, KnowledgePage]) -> None:
    """Raise InvalidInput if two files have the same page id, because the second would overwrite the first."""
    names_by_id: dict[str, str] = {}
    for name, page in pages.items():
        if page.id in names_by_id:
            raise InvalidInput(
                f"archive: {names_by_id[page.id]} and {name} are the same page {page.id}."
            )
        names_by_id[page.id] = name


def _name_files(pages: Sequence[KnowledgePage]) -> dict[str, KnowledgePage]:
    """Return the pages by file name. A number is added to a name that an earlier page has."""
    page_files: dict[str, KnowledgePage] = {}
    for page in pages:
        name, number = build_file_name(page), 2
        while name in page_files:
            name = f"{build_file_name(page).removesuffix('.md')}-{number}.md"
            number += 1
        page_files[name] = page
    return page_files
