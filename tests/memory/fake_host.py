"""A host without workflows, for tests of memory alone."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from accounts.principals import Principal
from memory.core.errors import InvalidInput, NotFound
from memory.core.records import Json
from memory.host import (
    EmbeddingCall,
    EmbeddingModel,
    KeyRun,
    RunDescription,
    RunFilter,
    StoredDocument,
    TeamRun,
)
from memory.logic.ports import AskModel


@dataclass
class FakeNodeTrials:
    ids: Mapping[str, str] = field(default_factory=dict)
    output: Sequence[tuple[str, str]] = ()

    def prepare(
        self, principal: Principal, team_id: UUID, *, own: str, shared: str
    ) -> Mapping[str, str]:
        return self.ids

    def run_nodes(
        self, memory: Any, system: Mapping[str, Json], *, groups: Iterable[str]
    ) -> Iterable[tuple[str, str]]:
        return self.output


@dataclass
class FakeLeakAreas:
    own: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    holes: Mapping[str, Sequence[tuple[Any, str, Callable[..., Any]]]] = field(default_factory=dict)

    def fill(
        self, principal: Principal, team_id: UUID, run_id: str, secrets: Mapping[str, str]
    ) -> Mapping[str, str]:
        return {}


@dataclass
class FakeHost:
    """Answers from its fields and records what it was asked to curate and to erase."""

    names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    participants: Mapping[tuple[str, str], frozenset[UUID]] = field(default_factory=dict)
    runs: Mapping[str, RunDescription] = field(default_factory=dict)
    subjects: Mapping[str, str] = field(default_factory=dict)  # of runs
    deleted_runs: Collection[str] = ()
    team_runs: Sequence[TeamRun] = ()
    ended: Sequence[str] = ()
    groups: Collection[tuple[str, str, str]] = ()  # person, workflow and group of each run
    namespaces: Sequence[str] = ()
    records: Sequence[tuple[str, Mapping[str, Json]]] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    curated: list[tuple[UUID, UUID]] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    originals: dict[UUID, bytes] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)  # sentences by file name
    ask: AskModel | None = None
    embedding_models: dict[UUID, EmbeddingModel] = field(default_factory=dict)
    embedding_calls: list[tuple[UUID, EmbeddingCall]] = field(default_factory=list)
    node_trials: FakeNodeTrials = field(default_factory=FakeNodeTrials)
    leak_areas: FakeLeakAreas = field(default_factory=FakeLeakAreas)

    def list_names(self, team_id: UUID, scope: str, ids: Sequence[str]) -> Mapping[str, str]:
        return {id_: self.names[scope, id_] for id_ in ids if (scope, id_) in self.names}

    def list_participants(self, team_id: UUID, scope: str, key: str) -> frozenset[UUID]:
        return self.participants.get((scope, key), frozenset())

    def list_runs_of_person(self, team_id: UUID, subject: str) -> list[str]:
        return [run_id for run_id, person in self.subjects.items() if person == subject]

    def list_subjects(self, team_id: UUID, run_ids: Iterable[str]) -> Mapping[str, str]:
        return {run_id: self.subjects[run_id] for run_id in run_ids if run_id in self.subjects}

    def list_deleted_runs(self, principal: Principal, run_ids: Iterable[str]) -> frozenset[str]:
        return frozenset(run_id for run_id in run_ids if run_id in self.deleted_runs)

    def describe_runs(
        self, principal: Principal, run_ids: Iterable[str]
    ) -> Mapping[str, RunDescription]:
        return {run_id: self.runs[run_id] for run_id in run_ids if run_id in self.runs}

    def list_team_runs(
        self, principal: Principal, team_id: UUID, run_filter: RunFilter, limit: int
    ) -> Sequence[TeamRun]:
        return self.team_runs[:limit]

    def list_key_runs(
        self, principal: Principal, team_id: UUID, run_filter: RunFilter, limit: int
    ) -> Sequence[KeyRun]:
        return []

    def list_team_workflows(self, principal: Principal, team_id: UUID) -> Mapping[str, str]:
        return {run.workflow_id: run.workflow for run in self.team_runs}

    def list_ended_runs(self, team_id: UUID, run_ids: Sequence[str]) -> Sequence[str]:
        return [run_id for run_id in run_ids if run_id in self.ended]

    def has_run_in_group(self, team_id: UUID, identity: Mapping[str, Json], group_id: str) -> bool:
        return (identity.get("user_id"), identity.get("workflow_id"), group_id) in self.groups

    def find_model(self, team_id: UUID, provider: str, model: str) -> AskModel | None:
        return self.ask

    def find_embedding_model(self, team_id: UUID) -> EmbeddingModel | None:
        return self.embedding_models.get(team_id)

    def count_embedding(self, team_id: UUID, call: EmbeddingCall) -> None:
        self.embedding_calls.append((team_id, call))

    def curate_run(self, team_id: UUID, curation_id: UUID) -> None:
        self.curated.append((team_id, curation_id))

    def list_namespaces_of_person(self, team_id: UUID, subject: str) -> Sequence[str]:
        return self.namespaces

    def list_records_of_person(
        self, team_id: UUID, subject: str
    ) -> Iterable[tuple[str, Mapping[str, Json]]]:
        return self.records

    def store_document(
        self, principal: Principal, team_id: UUID, content: bytes, name: str
    ) -> StoredDocument:
        stored = StoredDocument(uuid4(), name, len(content), str(principal.user_id))
        self.originals[stored.id] = content
        return stored

    def read_document(self, team_id: UUID, file_id: UUID) -> bytes:
        if file_id not in self.originals:
            raise NotFound("The original of the document was deleted.")
        return self.originals[file_id]

    def extract_text(self, content: bytes, name: str) -> str:
        if name in self.unreadable:
            raise InvalidInput(self.unreadable[name])
        return content.decode()

    def remove_documents(
        self, team_id: UUID, file_ids: Sequence[UUID], *, dry_run: bool = False
    ) -> int:
        known = [file_id for file_id in file_ids if file_id in self.originals]
        for file_id in () if dry_run else known:
            del self.originals[file_id]
        return len(known)

    def check_erasable(self, team_id: UUID, subject: str) -> None:
        pass

    def count_kept(self, team_id: UUID, subject: str) -> Mapping[str, int]:
        return {}

    def erase_person(self, team_id: UUID, subject: str, *, dry_run: bool) -> Mapping[str, int]:
        if not dry_run:
            self.erased.append(subject)
        return self.rows
