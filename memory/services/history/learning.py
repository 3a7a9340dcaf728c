"""Read what runs learned and which runs it reached, across all namespaces that the caller may see.

The number of queries doesn't depend on the number of runs. Only runs that the host shows to the caller are asked for,
and only namespaces that the caller may view are read: nothing else appears, not even as a number.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import F
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Substr

from accounts.access import can
from accounts.tenancy import tenant
from config.retry import retry_on_conflict
from memory.host import KeyRun, RunFilter, get_host
from memory.logic.entries.duplicates import NEVER_MERGED
from memory.logic.entries.texts import list_texts
from memory.logic.knowledge.pages import PAGE_CATEGORY
from memory.logic.learning.lessons import Learning, Lesson, LessonKind, Use, get_kind
from memory.models import Namespace, Read, Revision
from memory.models.entries import Operation
from memory.providers.postgres.value_sources import load_value_runs
from memory.providers.postgres.vectors import RUN_SCOPES
from memory.services.gateway.audit_lines import record
from memory.services.gateway.caller import MemoryCaller
from memory.services.recall.search_all import list_searchable_namespaces


Row = Mapping[str, Any]  # what values() returns
Rows = list[Row]

MAX_RUNS: Final = 500
MAX_WRITES: Final = 2_000
MAX_READS: Final = 4_000
MAX_TEXT: Final = 600

# The beginning of a curated entry whose JSON was cut off: {"learnings":["…
_WRAPPING: Final = re.compile(r'^\{"\w+":\s*\[?\s*"')

# Messages and pages are no lessons: every turn of a chat reads all messages before it.
_NO_LESSONS: Final = sorted(NEVER_MERGED - {"page"})
_READ_FIELDS: Final = ("entry_id", "revision", "run_id", "injected")
_NO_CONTENT: Final[Row] = {
    "text": "", "entry_category": "", "title": None, "forgotten_at": None, "namespace": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyLearning:
    """It says how much the runs of a service account's keys taught. ``use_count`` is how often other runs used it.

    ``is_own`` is true if the reader created one of the keys, and so sees runs of the account.
    """

    account_id: str
    account: str
    is_own: bool
    run_count: int
    lesson_counts: Mapping[LessonKind, int]
    use_count: int


@retry_on_conflict
def load_learning(caller: MemoryCaller, *, run_ids: Sequence[str]) -> Learning:
    """Return what these runs wrote, and what any of them read of another one's."""
    with tenant([caller.team_id]):
        namespaces, _is_all = list_searchable_namespaces(caller, None, with_named=True)
        visible = namespaces.exclude(scope__in=RUN_SCOPES)
        writes = _list_writes(visible, run_ids)
        reads = _list_reads(visible, run_ids)
        learning = _connect(writes, reads)
        namespace_ids = sorted({str(row["namespace_id"]) for row in writes})
        detail = {"door": "learning", "keys": len(learning.lessons), "namespaces": namespace_ids}
        record(caller, "memory.listed", f"team:{caller.team_id}", detail)
    return learning


@retry_on_conflict
def load_key_lessons(caller: MemoryCaller, run_filter: RunFilter) -> list[KeyLearning]:
    """Count, by service account, what the newest runs of the team's keys wrote, and how often other runs used it.

    No content is read. Nothing is counted for who doesn't manage the keys.
    """
    if not can(caller.principal, "key.manage", caller.team_id):
        return []
    runs = get_host().list_key_runs(caller.principal, caller.team_id, run_filter, MAX_RUNS)
    if not runs:
        return []
    with tenant([caller.team_id]):
        namespaces = Namespace.objects.unscoped().filter(team_id=caller.team_id)
        revisions = _select_writes(
            namespaces.exclude(scope__in=RUN_SCOPES), [run.id for run in runs]
        )
        writes = list(
            revisions.values("entry_id", "number", "run_id", key=F("entry__key"))[:MAX_WRITES]
        )
        reads = Read.objects.unscoped().filter(entry_id__in={row["entry_id"] for row in writes})
        learning = _connect(
            [{**row, **_NO_CONTENT} for row in writes],
            list(reads.order_by("-at", "-id").values(*_READ_FIELDS)[:MAX_READS]),
        )
        record(
            caller, "memory.listed", f"team:{caller.team_id}", {"door": "learning", "counts": True}
        )
    return _count_by_account(runs, learning)


@retry_on_conflict
def list_lesson_namespaces(caller: MemoryCaller, lessons: Iterable[Lesson]) -> list[Namespace]:
    """Return the namespaces of lessons that the caller was shown."""
    texts = {lesson.namespace for lesson in lessons}
    with tenant([caller.team_id]):
        namespaces, _is_all = list_searchable_namespaces(caller, None)
        return list(namespaces.filter(text__in=texts).order_by("text"))


def _count_by_account(runs: Sequence[KeyRun], learning: Learning) -> list[KeyLearning]:
    """Return the counts of the accounts by name."""
    accounts = {run.id: run.account_id for run in runs}
    lessons = Counter((accounts[lesson.run_id], lesson.kind) for lesson in learning.lessons)
    uses = Counter(accounts[use.source_run] for use in learning.uses)
    names = {run.account_id: run.account for run in runs}
    return [
        KeyLearning(
            account_id,
            name,
            any(run.is_own for run in runs if run.account_id == account_id),
            sum(run.account_id == account_id for run in runs),
            {kind: lessons[account_id, kind] for kind in LessonKind},
            uses[account_id],
        )
        for account_id, name in sorted(names.items(), key=lambda pair: (pair[1], pair[0]))
    ]


def _select_writes(namespaces: Any, run_ids: Sequence[str]) -> Any:
    rows = Revision.objects.unscoped().filter(
        run_id__in=run_ids, operation=Operation.STORE, entry__namespace__in=namespaces
    )
    return rows.exclude(category__in=_NO_LESSONS).order_by("-at", "-id")


def _list_writes(namespaces: Any, run_ids: Sequence[str]) -> Rows:
    return list(
        _select_writes(namespaces, run_ids).values(
            "entry_id", "number", "run_id", "at",
            key=F("entry__key"),
            text=Substr("entry__text", 1, MAX_TEXT),
            entry_category=F("entry__category"),
            title=Substr(KeyTextTransform("title", "entry__value"), 1, MAX_TEXT),
            forgotten_at=F("entry__deleted_at"),
            namespace_id=F("entry__namespace_id"),
            namespace=F("entry__namespace__text"),
        )[: MAX_WRITES + 1]
    )  # fmt: skip


def _list_reads(namespaces: Any, run_ids: Sequence[str]) -> Rows:
    rows = Read.objects.unscoped().filter(run_id__in=run_ids, entry__namespace__in=namespaces)
    rows = rows.exclude(entry__category__in=_NO_LESSONS).order_by("-at", "-id")
    return list(rows.values(*_READ_FIELDS)[: MAX_READS + 1])


def _connect(writes: Rows, reads: Rows) -> Learning:
    """Return the writes that gave an entry its value as lessons, and the reads of them by other runs as uses."""
    is_all = len(writes) <= MAX_WRITES and len(reads) <= MAX_READS
    writes, reads = writes[:MAX_WRITES], reads[:MAX_READS]
    written_ids = {row["entry_id"] for row in writes}
    relevant_reads = [row for row in reads if row["entry_id"] in written_ids]
    writers = load_value_runs(
        [*((row["entry_id"], row["number"]) for row in writes)]
        + [(row["entry_id"], row["revision"]) for row in relevant_reads]
    )
    lessons: dict[tuple[str, str], Lesson] = {}
    for row in reversed(writes):
        if writers.get((row["entry_id"], row["number"])) == row["run_id"]:
            lesson = _build_lesson(row)
            lessons[lesson.entry_id, lesson.run_id] = lesson
    uses: dict[tuple[str, str, str], Use] = {}
    for row in reversed(relevant_reads):
        use = Use(
            str(row["entry_id"]),
            writers.get((row["entry_id"], row["revision"]), ""),
            row["run_id"],
            row["injected"],
        )
        key = use.entry_id, use.source_run, use.target_run
        is_shown = (use.entry_id, use.source_run) in lessons and use.source_run != use.target_run
        if is_shown and (key not in uses or use.is_in_prompt):
            uses[key] = use
    return Learning(tuple(lessons.values()), tuple(uses.values()), is_all)


def _build_lesson(row: Row) -> Lesson:
    is_forgotten = row["forgotten_at"] is not None
    return Lesson(
        str(row["entry_id"]),
        row["run_id"],
        row["key"],
        get_kind(row["key"]),
        "" if is_forgotten else _get_text(row),
        row["namespace"],
        is_forgotten,
    )


def _get_text(row: Row) -> str:
    """Return the title of a page, or the texts in the value of any other entry."""
    if row["entry_category"] == PAGE_CATEGORY and row["title"]:
        return " ".join(row["title"].split())
    return _to_plain_text(row["text"].removeprefix(row["key"]).strip())


def _to_plain_text(text: str) -> str:
    """Return the texts in an entry's value on one line. The value's JSON may have been cut off."""
    try:
        texts = list_texts(json.loads(text))
    except ValueError:
        texts = [_WRAPPING.sub("", text)]
    return " ".join(" ".join(texts).split())
