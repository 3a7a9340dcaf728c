"""Bodies of export and import."""

from uuid import UUID

from pydantic import ConfigDict, Field

from config.http.openapi import Body
from memory.services.transfer.import_report import Clash, ImportReport


class ExportQuery(Body):
    """No namespace: the whole team, as far as you may see it."""

    namespace: str | None = Field(None, max_length=200)


class MemoryImportIn(Body):
    """``file``: an export, as text. ``into``: other names for its namespaces, by what it calls them.

    ``as_mine``: what the export of a person knows about them becomes what is remembered about you.
    Without ``dry_run: false`` nothing is changed, and the answer says what would be.
    """

    model_config = ConfigDict(
        json_schema_extra={"example": {"file": "…", "clash": "newer", "dry_run": True}}
    )

    file: str
    clash: Clash = Clash.NEWER
    into: dict[str, str] = Field(default={}, max_length=1_000)
    as_mine: bool = False
    dry_run: bool = True
    reason: str = Field("", max_length=500)


class UndoImportIn(Body):
    model_config = ConfigDict(
        json_schema_extra={"example": {"changes": ["01900000-0000-7000-8000-000000000001"]}}
    )

    changes: list[UUID] = Field(min_length=1, max_length=1_000)


class UndoneImportOut(Body):
    count: int


class LineProblemOut(Body):
    """A line that can't be read; ``field`` is empty where all of it is wrong."""

    line: int
    field: str
    message: str


class RefusalOut(Body):
    """What was left out, and why; without a key a whole namespace."""

    line: int
    namespace: str
    key: str
    why: str


class CaughtOut(Body):
    """What the gate found in a line that comes. ``secrets``: kinds of what is blotted out; ``orders``: what they
    were known by, and then it waits in quarantine for a person."""

    line: int
    namespace: str
    key: str
    secrets: list[str]
    orders: str


class ImportTargetOut(Body):
    """A namespace of the file, and what it is here. ``same``: there already; ``kept``: what was here holds.

    ``redacted``: lines that held a secret; ``held``: of those that come, so many wait for a person.
    """

    named: str
    to: str
    new: int
    overwritten: int
    same: int
    kept: int
    refused: int
    redacted: int
    held: int
    why: str


class ImportOut(Body):
    """With problems nothing was done. ``changes`` undo together; ``skipped`` lines are for reading alone;
    ``caught`` has the first of what the gate found, by line."""

    dry_run: bool
    problems: list[LineProblemOut]
    new: int
    overwritten: int
    same: int
    kept: int
    refused: int
    redacted: int
    held: int
    skipped: int
    namespaces: list[ImportTargetOut]
    refusals: list[RefusalOut]
    caught: list[CaughtOut]
    changes: list[UUID]


def import_out(done: ImportReport) -> ImportOut:
    return ImportOut(
        dry_run=done.dry_run,
        problems=[
            LineProblemOut(line=p.line, field=p.field, message=p.message) for p in done.problems
        ],
        new=done.new_count,
        overwritten=done.overwritten_count,
        same=done.same_count,
        kept=done.kept_count,
        refused=done.refused_count,
        redacted=done.redacted_count,
        held=done.held_count,
        skipped=done.skipped_count,
        namespaces=[
            ImportTargetOut(
                named=one.name_in_file,
                to=one.to,
                new=one.new_count,
                overwritten=one.overwritten_count,
                same=one.same_count,
                kept=one.kept_count,
                refused=one.refused_count,
                redacted=one.redacted_count,
                held=one.held_count,
                why=one.why,
            )
            for one in done.targets
        ],
        refusals=[
            RefusalOut(line=one.line, namespace=one.namespace, key=one.key, why=one.why)
            for one in done.refusals
        ],
        caught=[
            CaughtOut(
                line=one.line,
                namespace=one.namespace,
                key=one.key,
                secrets=list(one.secrets),
                orders=one.orders,
            )
            for one in done.findings
        ],
        changes=done.changes,
    )
