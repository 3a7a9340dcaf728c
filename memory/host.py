"""The host: what memory needs from the application that runs workflows.

Memory stores ids of runs, workflows and conversations without knowing what they are. The application that owns them
implements ``Host`` and registers it once at start-up, because memory never imports that application.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol
from uuid import UUID

from accounts.principals import Principal
from memory.core.records import Json
from memory.logic.ports import AskModel


@dataclass(frozen=True, slots=True)
class RunDescription:
    """A run for people to read. ``nodes`` maps the ids of its nodes to their titles."""

    workflow: str
    summary: str
    at: datetime
    url: str
    nodes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Selects runs of a team. ``workflow`` is an id; ``person`` is a part of a name; days are included.

    ``service_account`` is the id of the one whose keys started the runs. Without it, a person's runs are those that no
    key started, or that are for this person.
    """

    workflow: str = ""
    person: str = ""
    service_account: str = ""
    since: date | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class TeamRun:
    """A run in a list of a team's runs. ``task`` is the title of the task that it executed, if any."""

    id: str
    workflow_id: str
    workflow: str
    summary: str
    task: str
    person: str
    status: str
    status_text: str
    at: datetime
    url: str


@dataclass(frozen=True, slots=True)
class KeyRun:
    """A run that an API key started: only whose it is. ``is_own`` is true if the reader created the key, and so sees it."""

    id: str
    account_id: str
    account: str  # the name of the service account
    is_own: bool


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """The original of a document in the file store. ``subject`` is the person with whom it is erased."""

    id: UUID
    name: str
    size: int
    subject: str


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """An embedding model that a team has connected: a model of an endpoint with OpenAI's embeddings API.

    ``provider`` is the id of the provider that the team connected. ``unrelated_cosine`` is the cosine that the model gives
    two unrelated texts.
    """

    provider: str
    url: str
    model: str
    key: str = field(default="", repr=False)
    dimensions: int | None = None  # to ask for; None: the model's own
    question_prefix: str = ""
    text_prefix: str = ""
    unrelated_cosine: float = 0.0


@dataclass(frozen=True, slots=True)
class EmbeddingCaller:
    """For whom a model is asked to embed a text: the principal, the run whose step asks, and the person whose memory it is.

    ``channel`` is the host's name of the way in by which the request came, if it told one (``name_request``).
    """

    principal: Principal
    run_id: str = ""
    subject: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddingCall:
    """A call of a team's embedding model. ``error`` is what its client raised, before memory worded it.

    Without a ``caller``, it was made in the background, for the memories of several people at once.
    """

    provider: str
    model: str
    tokens: int
    seconds: float
    error: Exception | None = field(default=None, repr=False)
    caller: EmbeddingCaller | None = None

    @property
    def has_failed(self) -> bool:
        return self.error is not None


class NodeTrials(Protocol):
    """Runs for the leak check, which looks for one person's secrets in another person's output."""

    def prepare(
        self, principal: Principal, team_id: UUID, *, own: str, shared: str
    ) -> Mapping[str, str]:
        """Create a workflow that contains the text ``shared``, and a run and a conversation that contain ``own``.

        Return their ids by kind.
        """
        ...

    def run_nodes(
        self, memory: Any, system: Mapping[str, Json], *, groups: Iterable[str]
    ) -> Iterable[tuple[str, str]]:
        """Run each node kind that uses memory, with ``memory`` as its memory port, and yield its label and whole output.

        ``groups`` are the ids of groups that a node tries to read, whether or not it may.
        """
        ...


class LeakAreas(Protocol):
    """The host's own tables that the leak check looks into, each with a secret of its own.

    ``own`` are areas whose rows are for one person, ``shared`` those whose rows all members of a team see. Of each area,
    ``holes`` has the functions that ``--plant`` replaces: the module, the name of the function, and the replacement.
    """

    @property
    def own(self) -> tuple[str, ...]: ...
    @property
    def shared(self) -> tuple[str, ...]: ...
    @property
    def holes(self) -> Mapping[str, Sequence[tuple[Any, str, Callable[..., Any]]]]: ...

    def fill(
        self, principal: Principal, team_id: UUID, run_id: str, secrets: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Write the secret of each area into its tables, about the run. Return the ids of the rows by kind."""
        ...


class Host(Protocol):
    """The application that runs workflows. Methods that take ids handle a whole page with one call."""

    @property
    def node_trials(self) -> NodeTrials: ...
    @property
    def leak_areas(self) -> LeakAreas: ...

    def list_names(self, team_id: UUID, scope: str, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the display names of a scope's ids, without those that the host doesn't know."""
        ...

    def list_participants(self, team_id: UUID, scope: str, key: str) -> frozenset[UUID]:
        """Return the ids of the accounts and of the API key that take part in a conversation or run, if it exists."""
        ...

    def list_subjects(self, team_id: UUID, run_ids: Iterable[str]) -> Mapping[str, str]:
        """Return for whom each of these runs is, without runs that don't exist or are for nobody."""
        ...

    def list_deleted_runs(self, principal: Principal, run_ids: Iterable[str]) -> frozenset[str]:
        """Return which of these runs are in none of the principal's teams any more."""
        ...

    def describe_runs(
        self, principal: Principal, run_ids: Iterable[str]
    ) -> Mapping[str, RunDescription]:
        """Describe the runs by id, without those that the principal may not see."""
        ...

    def list_team_runs(
        self, principal: Principal, team_id: UUID, run_filter: RunFilter, limit: int
    ) -> Sequence[TeamRun]:
        """Return the newest runs of the team that the principal may see, newest first, without child runs."""
        ...

    def list_key_runs(
        self, principal: Principal, team_id: UUID, run_filter: RunFilter, limit: int
    ) -> Sequence[KeyRun]:
        """Return the newest runs that any key of the team started, newest first, without child runs.

        Persons and service accounts of the filter are ignored. Raise NotAllowed unless the principal manages the keys.
        """
        ...

    def list_team_workflows(self, principal: Principal, team_id: UUID) -> Mapping[str, str]:
        """Return the names of the team's workflows that the principal may see, by id, in the order of their names."""
        ...

    def list_ended_runs(self, team_id: UUID, run_ids: Sequence[str]) -> Sequence[str]:
        """Return those of the runs that have ended."""
        ...

    def has_run_in_group(self, team_id: UUID, identity: Mapping[str, Json], group_id: str) -> bool:
        """Return whether the person whom ``identity`` names has a run of the same workflows in this group."""
        ...

    def curate_run(self, team_id: UUID, curation_id: UUID) -> None:
        """Carry out the curation of a run. No error is raised; the curation's row says how it ended."""
        ...

    def find_model(self, team_id: UUID, provider: str, model: str) -> AskModel | None:
        """Return a function that asks this model, or None if the team has not connected its provider."""
        ...

    def find_embedding_model(self, team_id: UUID) -> EmbeddingModel | None:
        """Return the team's default embedding model, or None if its memories are embedded by the installation's embedder."""
        ...

    def count_embedding(self, team_id: UUID, call: EmbeddingCall) -> None:
        """Add a call to the team's usage, and store whether its provider can be reached, in transactions of their own.

        No error is raised.
        """
        ...

    def list_namespaces_of_person(self, team_id: UUID, subject: str) -> Sequence[str]:
        """Return the namespaces of a person's conversations and runs."""
        ...

    def list_runs_of_person(self, team_id: UUID, subject: str) -> Sequence[str]:
        """Return the ids of the runs for a person."""
        ...

    def list_records_of_person(
        self, team_id: UUID, subject: str
    ) -> Iterable[tuple[str, Mapping[str, Json]]]:
        """Yield the kind and the content of everything the host stores about a person, for their export."""
        ...

    def store_document(
        self, principal: Principal, team_id: UUID, content: bytes, name: str
    ) -> StoredDocument:
        """Store the original of a document for the principal, in the caller's transaction.

        Raise InvalidInput for one that is empty or too large, or for which the team has no room.
        """
        ...

    def read_document(self, team_id: UUID, file_id: UUID) -> bytes:
        """Return the content of an original. Raise NotFound if it is gone."""
        ...

    def extract_text(self, content: bytes, name: str) -> str:
        """Return the text of a document, with a form feed between pages of paper.

        Raise InvalidInput with a sentence for people if it can't be read.
        """
        ...

    def remove_documents(
        self, team_id: UUID, file_ids: Sequence[UUID], *, dry_run: bool = False
    ) -> int:
        """Remove originals, in the caller's transaction, and return their number."""
        ...

    def check_erasable(self, team_id: UUID, subject: str) -> None:
        """Raise the error with which ``erase_person`` would refuse to erase this person now."""
        ...

    def count_kept(self, team_id: UUID, subject: str) -> Mapping[str, int]:
        """Return the number of rows by table that stay although the person wrote them, because they belong to others."""
        ...

    def erase_person(self, team_id: UUID, subject: str, *, dry_run: bool) -> Mapping[str, int]:
        """Erase all that the host stores about a person, or raise an error; return the number of rows by table."""
        ...


_registered: list[Host] = []


def register_host(host: Host) -> None:
    """Register the host. It replaces a host that was registered before."""
    _registered[:] = [host]


def get_host() -> Host:
    if not _registered:
        raise RuntimeError("No host is registered with memory: see memory.host.register_host.")
    return _registered[0]
