"""Answers to memory's questions about workflows: names, participants, ended runs, erasure and
curation.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db.models import OuterRef, Subquery
from django.urls import reverse

from accounts.principals import Principal
from workflows import memory_app, selectors
from workflows.execution.learning.run_summary import curate_run
from workflows.models import Conversation, Message, Run, Step, Workflow
from workflows.models.run import ENDED
from workflows.services import erasure
from workflows.services.samples.node_trials import NodeTrials


MAX_NAME = 60


def register() -> None:
    for scope, namer in NAMERS.items():
        memory_app.register_namer(scope, namer)
    memory_app.register_participants("conversation", list_participants)
    for scope in ("run", "run_metadata"):
        memory_app.register_participants(scope, list_run_participants)
    memory_app.asks_which_ended(filter_ended)
    memory_app.asks_what_is_of(list_namespaces)
    memory_app.asks_what_is_known_of(erasure.export_person)
    memory_app.asks_to_erase_too(erasure.erase_person)
    memory_app.asks_to_try_nodes(NodeTrials())
    memory_app.asks_to_curate(curate_run)
    memory_app.register_run_describer(describe_runs)


def list_participants(team_id: UUID, key: str) -> frozenset[UUID]:
    """Return the accounts and the API key that take part in the conversation; empty if there is
    none.
    """
    rows = Conversation.objects.unscoped().filter(team_id=team_id, key=key)
    ids = rows.values_list("started_by_id", "subject_user_id", "api_key_id").first() or ()
    return frozenset(filter(None, ids))


def list_run_participants(team_id: UUID, run_id: str) -> frozenset[UUID]:
    """Return the ids that a run belongs to, so that no other program uses its notes."""
    rows = Run.objects.unscoped().filter(team_id=team_id, pk__in=_parse_uuids([run_id]))
    ids = rows.values_list("pk", "started_by_id", "subject_user_id", "api_key_id").first() or ()
    return frozenset(filter(None, ids))


def filter_ended(team_id: UUID, ids: Sequence[str]) -> list[str]:
    rows = Run.objects.unscoped().filter(
        team_id=team_id, pk__in=_parse_uuids(ids), status__in=ENDED
    )
    return [str(pk) for pk in rows.values_list("pk", flat=True)]


def list_namespaces(team_id: UUID, subject: str) -> list[str]:
    """Return the namespaces of a person's conversations and runs."""
    condition = erasure.match_person(subject)
    conversations = Conversation.objects.unscoped().filter(condition, team_id=team_id)
    runs = Run.objects.unscoped().filter(condition, team_id=team_id)
    of_runs = [
        f"{beginning}:{pk}"
        for pk in runs.values_list("pk", flat=True)
        for beginning in ("ai:notes", "ai:workflow")
    ]
    return [*(f"conv:{key}" for key in conversations.values_list("key", flat=True)), *of_runs]


def name_conversations(team_id: UUID, keys: Sequence[str]) -> Mapping[str, str]:
    first = Message.objects.unscoped().filter(conversation=OuterRef("pk")).order_by("number")
    rows = (
        Conversation.objects.unscoped()
        .filter(team_id=team_id, key__in=keys)
        .annotate(began=Subquery(first.values("query")[:1]))
        .values_list("key", "name", "began")
    )
    return {key: _shorten(name or began or "") for key, name, began in rows}


def name_workflows(team_id: UUID, ids: Sequence[str]) -> Mapping[str, str]:
    rows = Workflow.objects.unscoped().filter(team_id=team_id, pk__in=_parse_uuids(ids))
    return {str(pk): name for pk, name in rows.values_list("pk", "name")}


def name_streams(team_id: UUID, ids: Sequence[str]) -> Mapping[str, str]:
    """Return the workflow's name for its own memory, and all names for a merged memory."""
    parts = {stream: _split_stream(stream) for stream in ids}
    names = name_workflows(
        team_id, [part for workflow_ids in parts.values() for part in workflow_ids]
    )
    return {
        stream: " + ".join(names[part] for part in workflow_ids)
        for stream, workflow_ids in parts.items()
        if workflow_ids and all(part in names for part in workflow_ids)
    }


def name_runs(team_id: UUID, ids: Sequence[str]) -> Mapping[str, str]:
    rows = Run.objects.unscoped().filter(team_id=team_id, pk__in=_parse_uuids(ids))
    return {str(pk): name for pk, name in rows.values_list("pk", "workflow__name")}


def describe_runs(
    principal: Principal, ids: Iterable[str]
) -> Mapping[str, "memory_app.RunDescription"]:
    """Return descriptions of the runs that the reader may see, with the titles of their nodes."""
    visible_runs = {
        run.pk: run for run in selectors.runs_for(principal).filter(pk__in=_parse_uuids(ids))
    }
    titles: dict[UUID, dict[str, str]] = {}
    steps = Step.objects.unscoped().filter(run_id__in=visible_runs)  # admitted with their run
    for run_id, key, title in steps.values_list("run_id", "node_key", "title"):
        titles.setdefault(run_id, {})[key] = title
    return {
        str(pk): memory_app.RunDescription(
            run.workflow.name,
            _shorten(run.gist),
            run.created_at,
            reverse("workflows:run", args=[pk]),
            titles.get(pk, {}),
        )
        for pk, run in visible_runs.items()
    }


NAMERS = {
    "conversation": name_conversations,
    "global": name_workflows,
    "workflow": name_streams,
    "run": name_runs,
}


def _split_stream(stream: str) -> list[str]:
    """Return the workflow ids of a stream; a stream too long to hold them all has none."""
    length = len(str(UUID(int=0)))
    ids = [stream[start : start + length] for start in range(0, len(stream), length + 1)]
    return ids if "-".join(str(uuid) for uuid in _parse_uuids(ids)) == stream else []


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_NAME else f"{words[: MAX_NAME - 1].rstrip()}…"


def _parse_uuids(ids: Iterable[str]) -> list[UUID]:
    uuids = []
    for value in ids:
        try:
            uuids.append(UUID(value))
        except ValueError:
            continue
    return uuids
