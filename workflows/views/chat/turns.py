"""The turns of a conversation for its person, each with its answer and the memories that it used and stored."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.principals import Principal
from workflows import memory_app, selectors
from workflows.engine.language.document import Json
from workflows.engine.runtime.events import (
    MemoryEnded,
    MemoryKeptOut,
    MemoryRecalled,
    MemoryWritten,
)
from workflows.execution.ports.client_calls import ClientCall
from workflows.files.links import build_link
from workflows.files.records import list_file_ids
from workflows.files.shown import ShownFile
from workflows.models import Conversation, Feedback, Run, RunEvent, Workflow
from workflows.services.chat.wishes_to_forget import (
    HIDDEN_SCOPES,
    NO_WISHES,
    WISH_EVENTS,
    Wishes,
    load_wishes,
    takes_out,
)
from workflows.services.files.linked import load_linked_files
from workflows.services.files.reading import find_own_files
from workflows.services.runs.citations import Citation, load_citations
from workflows.services.runs.descendants import list_descendants
from workflows.services.runs.feedback import load_own_feedback
from workflows.views.chat.addresses import ChatUrls, MemberChatUrls, TurnUrls
from workflows.views.chat.failure_texts import (
    describe_failure,
    describe_no_answer,
    list_failure_texts,
    load_failed_titles,
)
from workflows.views.request_context import parse_id_or_none, parse_valid_ids
from workflows.views.runs.answering_models import (
    NO_ANSWERS,
    RunAnswers,
    load_run_answers,
    split_reasoning,
)
from workflows.views.value_text import format_entry


MAX_TURNS: Final = 50
MAX_USED: Final = 8
MEMORY_EVENTS: Final = (
    MemoryRecalled.name, MemoryWritten.name, MemoryEnded.name, MemoryKeptOut.name, *WISH_EVENTS
)  # fmt: skip

SHARED_LABELS: Final[Mapping[str, Promise]] = {
    "global": _("from shared memory"),
    "workflow": _("from this workflow's group memory"),
}


@dataclass(frozen=True, slots=True)
class UsedMemory:
    """A memory that was used: when and where the person stated it, or the shared memory that it is from."""

    text: str
    stated_at: datetime | None = None
    url: str = ""
    shared: str | Promise = ""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory that was stored; ``current`` is its current state, if the person can forget it."""

    text: str
    current: "memory_app.PersonalEntry | None" = None
    is_shared: bool = False
    forget_url: str = ""  # of a visitor, who has no page of the memory


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A query and its answer; ``end_texts`` are shown when the run of a live turn ends."""

    run_id: UUID
    urls: TurnUrls
    query: str
    answer: str
    is_live: bool
    failed: bool
    end_texts: Mapping[str, str]
    no_answer: str = ""  # in place of an answer without text
    group: str = ""
    used: tuple[UsedMemory, ...] = ()
    stored: tuple[StoredMemory, ...] = ()
    wishes: Wishes = NO_WISHES
    not_recalled: bool = False
    not_remembered: bool = False
    has_questions: bool = False  # the run has paused, perhaps for an answer
    answers: RunAnswers = NO_ANSWERS
    reasoning: str = ""
    feedback: Feedback | None = None  # the reader's own
    files: Sequence[Json] = ()  # of the message
    answer_files: Sequence[Json] = ()
    linked_files: Mapping[UUID, ShownFile] = field(default_factory=dict)  # that the answer shows
    citations: Sequence[Citation] = ()
    signed_urls: Mapping[UUID, str] = field(default_factory=dict)  # of a visitor's own files
    is_public: bool = False


@dataclass(slots=True)
class _MemoryEvents:
    """The memory events of a run."""

    recalled: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)  # scope, entry
    stored: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    wishes: list[RunEvent] = field(default_factory=list)  # of what was taken out of memory
    is_recall_paused: bool = False
    is_store_paused: bool = False


def list_turns(
    principal: Principal,
    workflow: Workflow,
    conversation: Conversation,
    urls: ChatUrls | None = None,
) -> list[ChatTurn]:
    """Return the last turns, built from runs since a pending run has no message; a failed turn that was retried is left out."""
    newest_runs = Run.objects.visible_to(principal).filter(conversation=conversation)
    runs = list(newest_runs.order_by("-created_at", "-id")[:MAX_TURNS])[::-1]
    last_indexes = {_get_query(run): index for index, run in enumerate(runs)}
    visible_runs = [
        run
        for index, run in enumerate(runs)
        if not (_has_failed(run) and last_indexes[_get_query(run)] > index)
    ]
    return build_turns(principal, workflow, visible_runs, urls)


def build_turns(
    principal: Principal, workflow: Workflow, runs: Sequence[Run], urls: ChatUrls | None = None
) -> list[ChatTurn]:
    """Return the turns of these runs. ``urls`` are those of the page that shows them, by default the members' chat."""
    urls = urls or MemberChatUrls(workflow.pk)
    end_texts = list_failure_texts(can_edit=False)
    titles = load_failed_titles(principal, runs)
    events = _load_memory_events(principal, runs) if memory_app.is_on() else {}
    lookup = _MemoryLookup(principal, workflow, events.values(), urls)
    wishes = load_wishes(
        principal, workflow.team_id, [wish for each in events.values() for wish in each.wishes]
    )
    answers = load_run_answers(principal, runs)
    feedback = load_own_feedback(principal, runs)
    citations = load_citations(principal, runs)
    linked_files = load_linked_files(principal, [get_answer(run) for run in runs])
    signed_urls = _sign_own_files(principal, runs, linked_files) if urls.is_public else {}
    turns = []
    for run, linked in zip(runs, linked_files, strict=True):
        memory, has_failed = events.get(run.pk, _MemoryEvents()), _has_failed(run)
        answer, tagged = split_reasoning(get_answer(run))
        run_answers = answers.get(run.pk, NO_ANSWERS)
        turns.append(
            ChatTurn(
                run_id=run.pk,
                urls=urls.get_turn(run.pk),
                query=_get_query(run),
                answer=describe_failure(run, can_edit=False, titles=titles)
                if has_failed
                else answer,
                is_live=not run.has_ended,
                failed=has_failed,
                end_texts=end_texts,
                no_answer=describe_no_answer(run, end_texts),
                group=str(run.system.get("group_id", "")),
                used=lookup.list_used(memory, citations.get(run.pk, ())),
                stored=lookup.list_stored(memory),
                wishes=wishes.get(run.pk, NO_WISHES),
                not_recalled=memory.is_recall_paused,
                not_remembered=memory.is_store_paused,
                has_questions=run.pause is not None,
                answers=run_answers,
                reasoning=tagged or run_answers.reasoning,
                feedback=feedback.get(run.pk),
                files=run.system.get("files") or (),
                answer_files=(run.outputs or {}).get("files") or (),
                linked_files=_sign_shown(linked, signed_urls),
                citations=citations.get(run.pk, ()),
                signed_urls=signed_urls,
                is_public=urls.is_public,
            )
        )
    return turns


def _sign_own_files(
    principal: Principal, runs: Sequence[Run], linked_files: Sequence[Mapping[UUID, ShownFile]]
) -> dict[UUID, str]:
    """Return links, which work for some minutes, to those files of the turns that are the visitor's own."""
    values = [[run.system.get("files"), (run.outputs or {}).get("files")] for run in runs]
    ids = {*list_file_ids(values), *chain.from_iterable(linked_files)}
    return {file.pk: build_link(file) for file in find_own_files(principal, ids)}


def _sign_shown(
    files: Mapping[UUID, ShownFile], signed_urls: Mapping[UUID, str]
) -> dict[UUID, ShownFile]:
    return {key: replace(file, url=signed_urls.get(key, file.url)) for key, file in files.items()}


def _get_query(run: Run) -> str:
    return str(run.system.get("query", ""))


def get_answer(run: Run) -> str:
    """Return the answer; one of spaces alone counts as empty."""
    answer = str((run.outputs or {}).get("answer", ""))
    return answer if answer.strip() else ""


def _has_failed(run: Run) -> bool:
    return run.has_ended and bool(run.error)


def _load_memory_events(principal: Principal, runs: Sequence[Run]) -> dict[UUID, _MemoryEvents]:
    """Load the events of all turns and their sub-workflows in one query; the caller may see the runs.

    What a person asked a sub-workflow to forget is undone on the page of its own run, and not among the turns.
    """
    roots = {each.run.pk: each.root for each in list_descendants(principal, runs)}
    events = RunEvent.objects.visible_to(principal).filter(
        run__in=[*(run.pk for run in runs), *roots], name__in=MEMORY_EVENTS
    )
    events_by_run: dict[UUID, _MemoryEvents] = defaultdict(_MemoryEvents)
    left_out = {
        run.pk: ClientCall.from_json(run.client_call).list_left_out_scopes() for run in runs
    }
    for event in events.order_by("run_id", "seq"):
        root = roots.get(event.run_id, event.run_id)
        is_wish = event.name in WISH_EVENTS
        if event.data.get("scope") not in left_out[root] and not (
            is_wish and event.run_id in roots
        ):
            _add_event(events_by_run[root], event)
    return events_by_run


def _add_event(memory: _MemoryEvents, event: RunEvent) -> None:
    data = event.data
    scope = str(data.get("scope", ""))
    if event.name == MemoryKeptOut.name:
        memory.is_store_paused |= "paused" in data.get("reasons", ())
    elif event.name == MemoryRecalled.name:
        memory.is_recall_paused |= data.get("withheld") == "paused"
        if scope not in HIDDEN_SCOPES:
            memory.recalled += [(scope, entry) for entry in data.get("entries", ())]
    elif event.name == MemoryWritten.name and scope not in HIDDEN_SCOPES:
        memory.stored.append((scope, data["entry"]))
    if takes_out(event):
        memory.wishes.append(event)


class _MemoryLookup:
    """The source runs and current states of the memories of all turns, loaded once."""

    def __init__(
        self,
        principal: Principal,
        workflow: Workflow,
        memories: Collection[_MemoryEvents],
        urls: ChatUrls,
    ) -> None:
        self._workflow, self._urls = workflow, urls
        run_ids = parse_valid_ids(
            entry.get("run") for memory in memories for _scope, entry in memory.recalled
        )
        entry_ids = parse_valid_ids(
            entry.get("id") for memory in memories for _scope, entry in memory.stored
        )
        runs = selectors.list_runs(principal).filter(pk__in=run_ids) if run_ids else ()
        self._source_runs = {str(run.pk): run for run in runs}
        conversation_ids = {run.conversation_id for run in runs if run.conversation_id}
        conversations = Conversation.objects.visible_to(principal).filter(pk__in=conversation_ids)
        self._conversation_keys: Mapping[UUID | None, str] = (
            dict(conversations.values_list("pk", "key")) if conversation_ids else {}
        )
        caller = memory_app.MemoryCaller(principal, workflow.team_id) if entry_ids else None
        self._current_memories: Mapping[UUID, memory_app.PersonalEntry] = (
            memory_app.load_personal_entries(caller, ids=sorted(entry_ids)) if caller else {}
        )

    def list_used(
        self, memory: _MemoryEvents, citations: Sequence[Citation]
    ) -> tuple[UsedMemory, ...]:
        """Return the memories that were used, without pages that are cited."""
        cited_ids = {str(citation.entry_id) for citation in citations}
        used: dict[str, UsedMemory] = {}
        for scope, entry in memory.recalled:
            if entry.get("id") in cited_ids or self._is_hidden(scope):
                continue
            used.setdefault(str(entry.get("id") or len(used)), self._build_used(scope, entry))
        return tuple(used.values())[:MAX_USED]

    def list_stored(self, memory: _MemoryEvents) -> tuple[StoredMemory, ...]:
        stored: dict[str, StoredMemory] = {}
        for scope, entry in memory.stored:
            if self._is_hidden(scope):
                continue
            text = format_entry(entry, memory_app.format_value)
            is_own = scope == "user"
            current = (
                self._current_memories.get(parse_id_or_none(entry.get("id")) or UUID(int=0))
                if is_own
                else None
            )
            stored[str(entry.get("id") or len(stored))] = StoredMemory(
                text, current, not is_own, self._urls.get_forget_url(entry)
            )
        return tuple(stored.values())

    def _is_hidden(self, scope: str) -> bool:
        """Return whether a memory is the team's own, which a visitor of a public page isn't shown."""
        return self._urls.is_public and scope != "user"

    def _build_used(self, scope: str, entry: Mapping[str, Any]) -> UsedMemory:
        text = format_entry(entry, memory_app.format_value)
        if scope != "user":
            return UsedMemory(text, shared=SHARED_LABELS.get(scope, scope))
        run = self._source_runs.get(str(entry.get("run") or ""))
        if run is None:
            return UsedMemory(text)
        is_same_workflow = run.workflow_id == self._workflow.pk
        key = self._conversation_keys.get(run.conversation_id) if is_same_workflow else None
        return UsedMemory(text, run.created_at, f"?conversation={key}" if key else "")
