"""Pages as a ZIP of Markdown files, out and in again: byte for byte, where they pass the gate."""

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
from memory.core.errors import InvalidInput
from memory.logic.knowledge.knowledge_base import KnowledgeStore
from memory.logic.knowledge.page_files import build_file_name, export_page
from memory.logic.knowledge.page_gate import build_quarantined_page, screen_file
from memory.logic.knowledge.pages import KnowledgePage, from_entry
from memory.services.gateway.audit_lines import record
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.gateway import MemoryGateway, get_entry_namespace
from memory.services.knowledge.pages import MOST_AT_ONCE, page_entry
from memory.services.transfer.export_access import check_takes_out


MOST_BYTES = 20 * 1024 * 1024  # of all files together, unpacked
SUFFIXES = (".md", ".markdown", ".txt")
# The same pages make the same archive; when a page was written its file says itself.
_STAMP = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Imported:
    """``skipped``: files that are no pages, by name. ``caught``: of pages that come, what the gate found."""

    pages: tuple[KnowledgePage, ...]
    skipped: tuple[str, ...]
    caught: tuple["CaughtPage", ...] = ()

    @property
    def redacted(self) -> tuple["CaughtPage", ...]:
        return tuple(one for one in self.caught if one.secrets)

    @property
    def held(self) -> tuple["CaughtPage", ...]:
        return tuple(one for one in self.caught if one.held_for)


@dataclass(frozen=True, slots=True)
class CaughtPage:
    """``secrets``: kinds of what is blotted out; ``held_for``: why it waits in quarantine and isn't in ``pages``."""

    file: str
    page_id: str
    secrets: tuple[str, ...]
    held_for: tuple[str, ...]


@retry_on_conflict
def export_pages(
    caller: MemoryCaller, *, scope: str | None = None, namespace: str | None = None
) -> bytes:
    with MemoryGateway(caller).open_namespace(
        "view", "memory.exported", scope=scope, namespace=namespace
    ) as access:
        check_takes_out(access)
        pages = KnowledgeStore(access.text, access.store()).list_pages()
        packed = pack({name: export_page(page) for name, page in _named(pages).items()})
        access.detail.update(keys=len(pages), bytes=len(packed), pages=True)
        return packed


@retry_on_conflict
def export_one(caller: MemoryCaller, *, entry_id: UUID | str) -> tuple[str, bytes]:
    """One page's file: its name, and what is in it."""
    place = get_entry_namespace(caller, entry_id)
    with MemoryGateway(caller).open_namespace("view", "memory.exported", namespace=place) as access:
        check_takes_out(access)
        page = from_entry(page_entry(access, entry_id))
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
) -> Imported:
    """A ZIP of files, or files by name, or both; all or none.

    A page that is there becomes what its file says; its old value stays a revision. A page that reads
    like orders waits for a person instead. ``dry_run``: all of it is done, and taken back.
    """
    found, skipped = _files(archive, files)
    place = (scope, namespace)
    if not dry_run:
        return _bring(caller, found, skipped, place, reason)
    try:
        with tenant([caller.team_id]):
            done = _bring(caller, found, skipped, place, reason, dry_run=True)
            raise _TakenBack
    except _TakenBack:
        told = {"redacted": len(done.redacted), "held": len(done.held)}
        with tenant([caller.team_id]):
            record(
                caller,
                "memory.rehearsed",
                "import",
                {"import": True, "pages": True, "keys": len(done.pages), **told},
            )
    return done


class _TakenBack(Exception):
    """The end of a dry run."""


def _bring(
    caller: MemoryCaller,
    found: Mapping[str, bytes],
    skipped: tuple[str, ...],
    place: tuple[str | None, str | None],
    reason: str,
    *,
    dry_run: bool = False,
) -> Imported:
    scope, namespace = place
    with MemoryGateway(caller).open_namespace(
        "write", "memory.stored", scope=scope, namespace=namespace
    ) as access:
        if dry_run and access.external is not None:
            raise InvalidInput("dry_run: not supported by external providers.")
        access.claim()
        judged = {
            name: screen_file(data, name=_base(name), now=access.now)
            for name, data in found.items()
        }
        _check_ids({name: one.page for name, one in judged.items()})
        entries = access.store(reason or "import")
        store = KnowledgeStore(access.text, entries, clock=lambda: access.now, source=caller.source)
        pages, caught = [], []
        for name, one in judged.items():
            if one.reasons and (there := _just_so(store, one.page.id, found[name])):
                pages.append(there)
                continue
            if one.reasons:
                entries.store(build_quarantined_page(store, one.page, one.reasons))
            else:
                pages.append(store.put_page(one.page))
            if one.secrets or one.reasons:
                held_for = tuple(str(reason["reason"]) for reason in one.reasons)
                caught.append(CaughtPage(name, one.page.id, one.secrets, held_for))
        done = Imported(tuple(pages), skipped, tuple(caught))
        access.detail.update(keys=len(judged), pages=True, imported=True)
        told = {"redacted": len(done.redacted), "held": len(done.held)}
        access.detail.update({name: number for name, number in told.items() if number})
        return done


def _just_so(store: KnowledgeStore, page_id: str, data: bytes) -> KnowledgePage | None:
    """The page that is there, if it is that file already, at the word of somebody here."""
    there = store.get_page(page_id)
    return there if there is not None and export_page(there) == data else None


def _files(
    archive: bytes | None, files: Mapping[str, bytes]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    packed, skipped = unpack(archive) if archive is not None else ({}, ())
    found = {**packed, **{name: data for name, data in files.items() if _is_page_file(name)}}
    if not 1 <= len(found) <= MOST_AT_ONCE:
        raise InvalidInput(f"files: from 1 to {MOST_AT_ONCE} Markdown files.")
    return found, (*skipped, *(name for name in files if name not in found))


def pack(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _STAMP), data, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def unpack(data: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The pages of an archive by name, and the names of what is none. Sizes are counted, not believed."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            wanted = [one for one in members if _is_page_file(one.filename)]
            if len(wanted) > MOST_AT_ONCE:
                raise InvalidInput(f"archive: at most {MOST_AT_ONCE} Markdown files.")
            files: dict[str, bytes] = {}
            left = MOST_BYTES
            for member in wanted:
                files[member.filename] = _read(archive, member, left)
                left -= len(files[member.filename])
            taken = set(files)
            return files, tuple(one.filename for one in members if one.filename not in taken)
    except _BROKEN as broken:
        raise InvalidInput(_("archive: not a readable ZIP file.")) from broken


# A password, a method nobody wants, and every way in which a download may end too early.
_BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError(member.compress_type)
    with archive.open(member) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InvalidInput(f"archive: at most {MOST_BYTES} bytes, unpacked.")
    return data


def _is_page_file(name: str) -> bool:
    """What a Mac or an editor puts beside the files is none."""
    path = PurePosixPath(name)
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return path.suffix.lower() in SUFFIXES and not hidden


def _base(name: str) -> str:
    return PurePosixPath(name).name


def _check_ids(pages: Mapping[str, KnowledgePage]) -> None:
    """Of two files that mean one page the second would overwrite the first, in the order of the archive."""
    seen: dict[str, str] = {}
    for name, page in pages.items():
        if page.id in seen:
            raise InvalidInput(f"archive: {seen[page.id]} and {name} are the same page {page.id}.")
        seen[page.id] = name


def _named(pages: Sequence[KnowledgePage]) -> dict[str, KnowledgePage]:
    """Two ids may be one slug; the second gets a number."""
    named: dict[str, KnowledgePage] = {}
    for page in pages:
        name, number = build_file_name(page), 2
        while name in named:
            name = f"{build_file_name(page).removesuffix('.md')}-{number}.md"
            number += 1
        named[name] = page
    return named
