"""What memory asks about its namespaces: what they are called, and whose a conversation is."""

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


LONGEST = 60


def register() -> None:
    for scope, namer in NAMERS.items():
        memory_app.register_namer(scope, namer)
    memory_app.register_participants("conversation", takes_part)
    for scope in ("run", "run_metadata"):
        memory_app.register_participants(scope, runs_for)
    memory_app.asks_which_ended(ended_runs)
    memory_app.asks_what_is_of(namespaces_of)
    memory_app.asks_what_is_known_of(erasure.export_person)
    memory_app.asks_to_erase_too(erasure.erase_person)
    memory_app.asks_to_try_nodes(NodeTrials())
    memory_app.asks_to_curate(curate_run)
    memory_app.register_run_describer(runs_told)


def takes_part(team_id: UUID, key: str) -> frozenset[UUID]:
    """The accounts and the key whose conversation it is; nobody's where there is none."""
    found = Conversation.objects.unscoped().filter(team_id=team_id, key=key)
    ids = found.values_list("started_by_id", "subject_user_id", "api_key_id").first() or ()
    return frozenset(filter(None, ids))


def runs_for(team_id: UUID, run_id: str) -> frozenset[UUID]:
    """Whose a run is, so that nobody else's programme takes its notes for its own."""
    found = Run.objects.unscoped().filter(team_id=team_id, pk__in=_uuids([run_id]))
    ids = found.values_list("pk", "started_by_id", "subject_user_id", "api_key_id").first() or ()
    return frozenset(filter(None, ids))


def ended_runs(team_id: UUID, ids: Sequence[str]) -> list[str]:
    rows = Run.objects.unscoped().filter(team_id=team_id, pk__in=_uuids(ids), status__in=ENDED)
    return [str(pk) for pk in rows.values_list("pk", flat=True)]


def namespaces_of(team_id: UUID, subject: str) -> list[str]:
    """Those of a person's conversations and runs."""
    theirs = erasure.match_person(subject)
    talks = Conversation.objects.unscoped().filter(theirs, team_id=team_id)
    runs = Run.objects.unscoped().filter(theirs, team_id=team_id)
    of_runs = [
        f"{beginning}:{pk}"
        for pk in runs.values_list("pk", flat=True)
        for beginning in ("ai:notes", "ai:workflow")
    ]
    return [*(f"conv:{key}" for key in talks.values_list("key", flat=True)), *of_runs]


def conversations(team_id: UUID, keys: Sequence[str]) -> Mapping[str, str]:
    first = Message.objects.unscoped().filter(conversation=OuterRef("pk")).order_by("number")
    rows = (
        Conversation.objects.unscoped()
        .filter(team_id=team_id, key__in=keys)
        .annotate(began=Subquery(first.values("query")[:1]))
        .values_list("key", "name", "began")
    )
    return {key: _short(name or began or "") for key, name, began in rows}


def workflows(team_id: UUID, ids: Sequence[str]) -> Mapping[str, str]:
    rows = Workflow.objects.unscoped().filter(team_id=team_id, pk__in=_uuids(ids))
    return {str(pk): name for pk, name in rows.values_list("pk", "name")}


def streams(team_id: UUID, ids: Sequence[str]) -> Mapping[str, str]:
    """A workflow's own memory by its name, that of merged ones by all of theirs."""
    parts = {one: _merged(one) for one in ids}
    names = workflows(team_id, [part for found in parts.values() for part in found])
    return {
        one: " + ".join(names[part] for part in found)
        for one, found in parts.items()
        if found and all(part in names for part in found)
    }


def runs(team_id: UUID, ids: Sequence[str]) -> Mapping[str, str]:
    rows = Run.objects.unscoped().filter(team_id=team_id, pk__in=_uuids(ids))
    return {str(pk): name for pk, name in rows.values_list("pk", "workflow__name")}


def runs_told(
    principal: Principal, ids: Iterable[str]
) -> Mapping[str, "memory_app.RunDescription"]:
    """Those of them the reader may see, with the titles of their nodes."""
    found = {run.pk: run for run in selectors.runs_for(principal).filter(pk__in=_uuids(ids))}
    titles: dict[UUID, dict[str, str]] = {}
    steps = Step.objects.unscoped().filter(run_id__in=found)  # admitted with their run
    for run_id, key, title in steps.values_list("run_id", "node_key", "title"):
        titles.setdefault(run_id, {})[key] = title
    return {
        str(pk): memory_app.RunDescription(
            run.workflow.name,
            _short(run.gist),
            run.created_at,
            reverse("workflows:run", args=[pk]),
            titles.get(pk, {}),
        )
        for pk, run in found.items()
    }


NAMERS = {
    "conversation": conversations,
    "global": workflows,
    "workflow": streams,
    "run": runs,
}


def _merged(stream: str) -> list[str]:
    """The ids of a stream; one too long to name them all has none."""
    length = len(str(UUID(int=0)))
    found = [stream[start : start + length] for start in range(0, len(stream), length + 1)]
    return found if "-".join(str(one) for one in _uuids(found)) == stream else []


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"


def _uuids(ids: Iterable[str]) -> list[UUID]:
    found = []
    for one in ids:
        try:
            found.append(UUID(one))
        except ValueError:
            continue
    return found
