"""Bodies of export and import."""

from uuid import UUID

from pydantic import Field

from config.http.openapi import Body, with_example
from memory.schemas.namespaces import NamespaceText
from memory.services.transfer.import_report import ConflictRule, ImportReport, ImportTarget


_COUNTS = ("new", "overwritten", "same", "kept", "refused", "forgotten", "redacted", "held")


class ExportQuery(Body):
    """The namespace to export; without it, all namespaces of the team that the caller may see."""

    namespace: NamespaceText | None = None


class MemoryImportIn(Body):
    """An import. ``file`` is the text of an export; ``into`` maps its namespaces to other names.

    With ``as_mine``, an export of a person's memory is imported as the caller's own memory. With ``restore``, the
    entries that were forgotten here since are brought back. Without ``dry_run: false``, nothing is changed, and the
    response is a preview.
    """

    model_config = with_example(file="…", on_conflict="newer", dry_run=True)

    file: str
    on_conflict: ConflictRule = ConflictRule.NEWER
    into: dict[str, str] = Field(default={}, max_length=1_000)
    as_mine: bool = False
    dry_run: bool = True
    reason: str = Field("", max_length=500)
    restore: bool = False


class UndoImportIn(Body):
    model_config = with_example(changes=["01900000-0000-7000-8000-000000000001"])

    changes: list[UUID] = Field(min_length=1, max_length=1_000)


class UndoneImportOut(Body):
    count: int


class LineProblemOut(Body):
    """A line that can't be read; ``field`` is empty if the whole line is invalid."""

    line: int
    field: str
    message: str


class RefusalOut(Body):
    """A skipped line with the reason, such as that it was forgotten here; without a key, a whole namespace was skipped."""

    line: int
    namespace: str
    key: str
    why: str


class FindingOut(Body):
    """A finding in a line: the kinds of redacted ``secrets``, and the kind of ``orders`` that put it in quarantine."""

    line: int
    namespace: str
    key: str
    secrets: list[str]
    orders: str


class ImportTargetOut(Body):
    """A namespace of the file, its target, and counts: ``same`` entries exist already, ``kept`` ones stay as they were,
    ``forgotten`` ones were forgotten here, ``redacted`` lines had a secret, and ``held`` entries wait for a review.
    """

    named: str
    to: str
    new: int
    overwritten: int
    same: int
    kept: int
    refused: int
    forgotten: int
    redacted: int
    held: int
    why: str


class ImportOut(Body):
    """The result of an import; with ``problems``, nothing was imported. ``changes`` can be undone together, ``skipped``
    counts lines that are not imported, ``caught`` has the first findings of the content filter, and ``contradictions`` is
    the number of proposals about facts that can't both be true; a preview has none.
    """

    dry_run: bool
    problems: list[LineProblemOut]
    new: int
    overwritten: int
    same: int
    kept: int
    refused: int
    forgotten: int
    redacted: int
    held: int
    skipped: int
    namespaces: list[ImportTargetOut]
    refusals: list[RefusalOut]
    caught: list[FindingOut]
    changes: list[UUID]
    contradictions: int


def import_out(report: ImportReport) -> ImportOut:
    return ImportOut(
        dry_run=report.dry_run,
        problems=list(map(LineProblemOut.from_object, report.problems)),
        skipped=report.skipped_count,
        namespaces=[
            ImportTargetOut(
                named=target.name_in_file, to=target.to, why=target.why, **_get_counts(target)
            )
            for target in report.targets
        ],
        refusals=list(map(RefusalOut.from_object, report.refusals)),
        caught=list(map(FindingOut.from_object, report.findings)),
        changes=report.changes,
        contradictions=report.contradiction_count,
        **_get_counts(report),
    )


def _get_counts(source: ImportReport | ImportTarget) -> dict[str, int]:
    return {name: getattr(source, f"{name}_count") for name in _COUNTS}
