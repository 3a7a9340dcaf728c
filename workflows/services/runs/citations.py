"""The pages that the answers of runs rest on, for a reader, from what the runs recorded.

Nothing is stored: memory is asked each time what it may tell this reader about the pages now.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any, Final
from uuid import UUID

from django.db.models import Q
from django.db.models.fields.json import KT

from accounts.principals import Principal
from accounts.tenancy import reading, tenant
from workflows import memory_app
from workflows.engine.language.document import Document, Json
from workflows.engine.nodes.memory.citations import CITATIONS, find_cited_pages
from workflows.engine.runtime.events import MemoryRecalled, RunFinished
from workflows.execution.kinds import load_kinds
from workflows.models import Run, RunEvent, Snapshot, Step
from workflows.models.documents import from_json
from workflows.models.run import StepStatus
from workflows.services.runs.descendants import get_starting_node, list_descendants


MAX_CITATIONS: Final = 50  # of one answer
# The feature's switch in documents of both dialects.
SWITCH_PATHS: Final = (
    f"document__workflow__features__{CITATIONS}__enabled",
    f"document__meta__features__{CITATIONS}__enabled",
)
MAX_SWITCHES: Final = 10_000  # that a process remembers
PAGE_KEY: Final = "page:"  # with which the keys of pages begin


@dataclass(frozen=True, slots=True)
class Citation:
    """One of the pages that an answer rests on. ``page`` is None if it is no longer available to the reader."""

    position: int
    entry_id: UUID
    score: float | None
    page: "memory_app.CitedPage | None"

    @property
    def percent(self) -> int | None:
        return None if self.score is None else round(min(1.0, self.score) * 100)


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page that a run found."""

    entry_id: UUID
    run_id: UUID
    score: float | None


# Whether the application of a snapshot shows citations. Snapshots never change.
_switches: dict[UUID, bool] = {}

Pages = dict[
    str, FoundPage
]  # by the texts of their entries' ids, in the order in which they were found


def load_citations(
    principal: Principal, runs: Iterable[Run]
) -> Mapping[UUID, tuple[Citation, ...]]:
    """Return the citations of each ended run whose application shows them; the caller may see the runs.

    A page that a sub-workflow found counts if it reached the answer of the run that started it.
    """
    ended = [run for run in runs if run.has_ended]
    if not ended or not memory_app.is_on():
        return {}
    citations: dict[UUID, tuple[Citation, ...]] = {}
    for team_id in {run.team_id for run in ended}:
        of_team = [run for run in ended if run.team_id == team_id]
        with reading([team_id]):
            citations |= _load_for_team(principal, team_id, of_team)
    return citations


def build_answer_metadata(principal: Principal, run: Run) -> dict[str, Json]:
    """Return what the API says about the answer of a run besides its text."""
    return {
        "retriever_resources": serialize_citations(load_citations(principal, [run]).get(run.pk, ()))
    }


@dataclass(frozen=True, slots=True)
class StreamedCitations:
    """Adds the citations to the last event of a run's stream."""

    principal: Principal
    run: Run

    def is_due(self, name: str) -> bool:
        """Return whether an event of this name may have citations. It asks no database."""
        return name == RunFinished.name and _switches.get(self.run.snapshot_id, True)

    def add_to(self, data: Json) -> Json:
        with tenant([self.run.team_id]):
            run = Run.objects.visible_to(self.principal).filter(pk=self.run.pk).first()
        if run is None or not _select_showing([run]):
            return data
        return {**data, "metadata": build_answer_metadata(self.principal, run)}


def serialize_citations(citations: Iterable[Citation]) -> list[dict[str, Json]]:
    """Return the citations as Dify's ``retriever_resources``. Of a page that is gone, only the position is left."""
    return [_serialize(citation) for citation in citations]


def _serialize(citation: Citation) -> dict[str, Json]:
    page = citation.page
    return {
        "position": citation.position,
        "is_available": page is not None,
        "dataset_id": page.namespace if page else None,
        "dataset_name": page.knowledge_base if page else None,
        "document_id": page.page_id if page else None,
        "document_name": page.title if page else None,
        "segment_id": str(page.entry_id) if page else None,
        "score": citation.score if page else None,
        "content": page.content if page else None,
    }


def _load_for_team(
    principal: Principal, team_id: UUID, runs: Sequence[Run]
) -> dict[UUID, tuple[Citation, ...]]:
    showing = _select_showing(runs)
    if not showing:
        return {}
    records = _Records.load(principal, showing)
    pages_by_run = {run.pk: records.find_pages(run) for run in showing} if records.pages else {}
    reads = [(str(page.run_id), page.entry_id) for pages in pages_by_run.values() for page in pages]
    cited = memory_app.load_cited_pages(memory_app.MemoryCaller(principal, team_id), reads)
    return {
        run_id: tuple(
            Citation(
                position, page.entry_id, page.score, cited.get((str(page.run_id), page.entry_id))
            )
            for position, page in enumerate(pages, start=1)
        )
        for run_id, pages in pages_by_run.items()
        if pages
    }


def _select_showing(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of applications that show citations."""
    unknown = {run.snapshot_id for run in runs} - _switches.keys()
    if unknown:
        snapshots = Snapshot.objects.unscoped().filter(pk__in=unknown)
        switches = {f"switch_{number}": KT(path) for number, path in enumerate(SWITCH_PATHS)}
        is_on = reduce(or_, (Q(**{name: "true"}) for name in switches))
        showing = set(snapshots.annotate(**switches).filter(is_on).values_list("pk", flat=True))
        if len(_switches) > MAX_SWITCHES:
            _switches.clear()
        _switches.update({snapshot_id: snapshot_id in showing for snapshot_id in unknown})
    return [run for run in runs if _switches.get(run.snapshot_id)]


@dataclass(slots=True)
class _Records:
    """Holds what runs, and the runs that they started, recorded about the pages that they found."""

    children: Mapping[UUID, Sequence[Run]]  # by the run that started them
    pages: Mapping[UUID, Mapping[str, Pages]]  # by run, then by node
    finished: Mapping[UUID, set[str]]  # the nodes that succeeded, by run
    documents: dict[UUID, Document] = field(default_factory=dict)  # by snapshot

    @classmethod
    def load(cls, principal: Principal, runs: Sequence[Run]) -> "_Records":
        children: dict[UUID, list[Run]] = defaultdict(list)
        ids = [run.pk for run in runs]
        for descendant in list_descendants(principal, runs):
            child = descendant.run
            children[child.parent_id or child.pk].append(child)
            ids.append(child.pk)
        pages = _load_found_pages(principal, ids)
        return cls(children, pages, _load_finished_nodes(ids) if pages else {})

    def find_pages(self, run: Run) -> list[FoundPage]:
        """Return the pages that reached a model or the answer, in the order in which the run found them."""
        return list(islice(self._find_cited(run).values(), MAX_CITATIONS))

    def _find_cited(self, run: Run) -> Pages:
        pages = {node: dict(own_pages) for node, own_pages in self.pages.get(run.pk, {}).items()}
        for child in self.children.get(run.pk, ()):
            if cited_pages := self._find_cited(child):
                pages.setdefault(get_starting_node(child), {}).update(cited_pages)
        if not pages:
            return {}
        cited = find_cited_pages(
            self._load_document(run.snapshot_id),
            load_kinds(),
            pages={node: node_pages.keys() for node, node_pages in pages.items()},
            finished=self.finished.get(run.pk, set()),
            load_outputs=lambda node: _load_outputs(run, node),
        )
        best: Pages = {}
        for node_pages in pages.values():
            for key, page in node_pages.items():
                if key in cited and (key not in best or _is_better(page, best[key])):
                    best[key] = page
        return best

    def _load_document(self, snapshot_id: UUID) -> Document:
        if snapshot_id not in self.documents:
            snapshot = Snapshot.objects.unscoped().get(pk=snapshot_id)
            self.documents[snapshot_id] = from_json(snapshot.document)
        return self.documents[snapshot_id]


def _load_found_pages(
    principal: Principal, run_ids: Sequence[UUID]
) -> Mapping[UUID, Mapping[str, Pages]]:
    events = RunEvent.objects.visible_to(principal).filter(
        Q(data__entries__0__key__startswith=PAGE_KEY), run__in=run_ids, name=MemoryRecalled.name
    )
    pages_by_run: dict[UUID, dict[str, Pages]] = defaultdict(dict)
    rows = events.order_by("run_id", "seq").values_list("run_id", "data")
    for run_id, data in rows:
        pages = pages_by_run[run_id].setdefault(str(data.get("node")), {})
        for entry in data.get("entries", ()):
            page = _build_found_page(run_id, entry)
            if page is not None and (
                entry["id"] not in pages or _is_better(page, pages[entry["id"]])
            ):
                pages[entry["id"]] = page
    return pages_by_run


def _build_found_page(run_id: UUID, entry: Mapping[str, Any]) -> FoundPage | None:  # Any: JSON
    try:
        entry_id = UUID(str(entry.get("id")))
    except ValueError:
        return None  # of another memory provider
    is_page = str(entry.get("key", "")).startswith(PAGE_KEY)
    return FoundPage(entry_id, run_id, entry.get("score")) if is_page else None


def _is_better(page: FoundPage, other: FoundPage) -> bool:
    return (page.score or 0.0) > (other.score or 0.0)


def _load_finished_nodes(run_ids: Sequence[UUID]) -> Mapping[UUID, set[str]]:
    steps = Step.objects.unscoped().filter(run__in=run_ids, status=StepStatus.SUCCEEDED)
    nodes: dict[UUID, set[str]] = defaultdict(set)
    for run_id, node in steps.values_list("run_id", "node_key"):
        nodes[run_id].add(node)
    return nodes


def _load_outputs(run: Run, node: str) -> list[Json]:
    steps = Step.objects.unscoped().filter(run=run, node_key=node, status=StepStatus.SUCCEEDED)
    return list(steps.values_list("outputs", flat=True))
