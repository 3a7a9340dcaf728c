"""The implementation of memory's ``Host``: what memory asks about workflows, runs and conversations."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.access import check
from accounts.errors import NotFound
from accounts.models.secrets import PAGE_PREFIX
from accounts.principals import Principal
from accounts.tenancy import tenant
from memory import host as memory_host
from memory.host import (
    EmbeddingCall,
    EmbeddingCaller,
    EmbeddingModel,
    KeyRun,
    RunDescription,
    StoredDocument,
    TeamRun,
    register_host,
)
from workflows import memory_app, selectors
from workflows.engine.errors import DocumentUnreadable, ModelFailed
from workflows.engine.language.document import Json
from workflows.errors import FileRefused, FileTooLarge
from workflows.execution.curation import run_summary
from workflows.execution.ports.model_health import store_result
from workflows.execution.ports.models import build_config
from workflows.execution.usage.call_owners import find_owner
from workflows.execution.usage.single_calls import MEMORY, CallOwner, count_single_call
from workflows.leak_areas import LeakAreas
from workflows.llm.config import ProviderConfig
from workflows.models import Conversation, Message, ModelProvider, Run, Step, StreamName, Workflow
from workflows.models.personal import match_service_account
from workflows.models.provider import ModelType
from workflows.models.run import ENDED
from workflows.run_filters import RunFilter
from workflows.services import erasure
from workflows.services.files import documents
from workflows.services.models import added_models, model_trials
from workflows.services.samples.node_trials import NodeTrials
from workflows.templatetags.run_errors import translate_error


MAX_LENGTH = 60
_PARTICIPANTS = ("started_by_id", "subject_user_id", "api_key__service_account_id")
Record = tuple[str, dict[str, Any]]  # the kind and the values of an exported row


def register() -> None:
    register_host(WorkflowsHost())


class WorkflowsHost:
    """Implements ``memory.host.Host``."""

    def __init__(self) -> None:
        self.node_trials = NodeTrials()
        self.leak_areas = LeakAreas()

    def list_names(self, team_id: UUID, scope: str, ids: Sequence[str]) -> Mapping[str, str]:
        list_names = _NAME_FUNCTIONS.get(scope)
        return list_names(team_id, ids) if list_names else {}

    def list_participants(self, team_id: UUID, scope: str, key: str) -> frozenset[UUID]:
        """Return the members and the service account of a conversation or a run, and a run's own id, as it has notes."""
        if scope == "conversation":
            rows = Conversation.objects.unscoped().filter(team_id=team_id, key=key)
            return frozenset(filter(None, chain.from_iterable(rows.values_list(*_PARTICIPANTS))))
        if scope in ("run", "run_metadata"):
            runs = Run.objects.unscoped().filter(team_id=team_id, pk__in=_parse_uuids([key]))
            owners = runs.values_list("pk", *_PARTICIPANTS)
            return frozenset(filter(None, owners.first() or ()))
        return frozenset()

    def list_subjects(self, team_id: UUID, run_ids: Iterable[str]) -> dict[str, str]:
        runs = Run.objects.unscoped().filter(team_id=team_id, pk__in=_parse_uuids(run_ids))
        subjects = runs.exclude(subject="").values_list("pk", "subject")
        return {str(pk): subject for pk, subject in subjects}

    def list_deleted_runs(self, principal: Principal, run_ids: Iterable[str]) -> frozenset[str]:
        ids = {str(pk): text for text in run_ids for pk in _parse_uuids([text])}
        rows = Run.objects.unscoped().filter(team_id__in=principal.team_ids, pk__in=list(ids))
        existing = set(map(str, rows.values_list("pk", flat=True)))
        return frozenset(text for pk, text in ids.items() if pk not in existing)

    def describe_runs(
        self, principal: Principal, run_ids: Iterable[str]
    ) -> Mapping[str, RunDescription]:
        rows = selectors.list_runs(principal).filter(pk__in=_parse_uuids(run_ids))
        runs = {run.pk: run for run in rows}
        titles: dict[UUID, dict[str, str]] = {}
        steps = Step.objects.unscoped().filter(run_id__in=runs)  # visible if their run is
        for run_id, key, title in steps.values_list("run_id", "node_key", "title"):
            titles.setdefault(run_id, {})[key] = title
        return {
            str(pk): RunDescription(
                run.workflow.name,
                _shorten(run.summary),
                run.created_at,
                reverse("workflows:run", args=[pk]),
                titles.get(pk, {}),
            )
            for pk, run in runs.items()
        }

    def list_team_runs(
        self, principal: Principal, team_id: UUID, run_filter: memory_host.RunFilter, limit: int
    ) -> list[TeamRun]:
        rows = selectors.list_runs(principal).filter(team_id=team_id)
        if run_filter.service_account:
            rows = rows.filter(match_service_account(UUID(run_filter.service_account)))
        elif principal.user_id is not None:
            rows = rows.filter(Q(api_key=None) | Q(subject_user_id=principal.user_id))
        runs = list(_filter_runs(rows, run_filter).select_related("subject_user")[:limit])
        tasks = selectors.list_tasks(principal, team_id=team_id)
        titles = dict(tasks.filter(run__in=[run.pk for run in runs]).values_list("run_id", "title"))
        return [_build_team_run(run, titles.get(run.pk, "")) for run in runs]

    def list_key_runs(
        self, principal: Principal, team_id: UUID, run_filter: memory_host.RunFilter, limit: int
    ) -> list[KeyRun]:
        check(principal, "key.manage", team_id)
        # Visitors of public pages are no programs, although their page acts with a key.
        runs = Run.objects.unscoped().filter(team_id=team_id, api_key__isnull=False)
        rows = runs.filter(rounds__isnull=True).exclude(api_key__prefix=PAGE_PREFIX)
        key_runs = _filter_runs(rows, replace(run_filter, person="")).values_list(
            "pk",
            "api_key__service_account_id",
            "api_key__service_account__name",
            "api_key__created_by_id",
        )
        return [
            KeyRun(str(pk), str(account_id), name, creator_id == principal.user_id)
            for pk, account_id, name, creator_id in key_runs.order_by("-created_at", "-pk")[:limit]
        ]

    def list_team_workflows(self, principal: Principal, team_id: UUID) -> dict[str, str]:
        rows = selectors.list_workflows(principal, team_id=team_id).order_by("name", "id")
        return {str(pk): name for pk, name in rows.values_list("pk", "name")}

    def list_ended_runs(self, team_id: UUID, run_ids: Sequence[str]) -> list[str]:
        rows = Run.objects.unscoped().filter(team_id=team_id, pk__in=_parse_uuids(run_ids))
        return [str(pk) for pk in rows.filter(status__in=ENDED).values_list("pk", flat=True)]

    def has_run_in_group(self, team_id: UUID, identity: Mapping[str, Json], group_id: str) -> bool:
        subject, workflow_id = identity.get("user_id"), identity.get("workflow_id")
        if not subject or not workflow_id:
            return False
        runs = Run.objects.unscoped().filter(
            team_id=team_id, workflow_id__in=_parse_uuids([str(workflow_id)]), subject=subject
        )
        in_group = runs.annotate(group=KeyTextTransform("group_id", "system")).filter(
            group=group_id
        )
        # Merged workflows have a memory of their own, beside those of each of them.
        names = identity.get("workflow_names") or None
        systems = in_group.values_list("system", flat=True).iterator(chunk_size=100)
        return any((system.get("workflow_names") or None) == names for system in systems)

    def curate_run(self, team_id: UUID, curation_id: UUID) -> None:
        run_summary.curate_run(team_id, curation_id)

    def find_model(self, team_id: UUID, provider: str, model: str) -> "memory_app.AskModel | None":
        return run_summary.find_model(team_id, provider, model)

    def find_embedding_model(self, team_id: UUID) -> EmbeddingModel | None:
        model = added_models.find_default(team_id, ModelType.EMBEDDING)
        if model is None:
            return None
        return model_trials.build_embedding_model(model, model_trials.load_config_of(model))

    def count_embedding(self, team_id: UUID, call: EmbeddingCall) -> None:
        with tenant([team_id]):
            provider = ModelProvider.objects.unscoped().filter(pk=call.provider).first()
        if provider is None:  # it was removed meanwhile
            return
        config = build_config(provider)
        count_single_call(
            team_id,
            provider.name,
            call.model,
            price=config.find_price(call.model),
            tokens=call.tokens,
            seconds=call.seconds,
            has_failed=call.has_failed,
            owner=MEMORY if call.caller is None else _find_owner(team_id, call.caller),
        )
        store_result(team_id, config, _build_failure(call, config), call.model)

    def list_namespaces_of_person(self, team_id: UUID, subject: str) -> list[str]:
        rows_of_person = erasure.match_person(subject)
        conversations = Conversation.objects.unscoped().filter(rows_of_person, team_id=team_id)
        runs = Run.objects.unscoped().filter(rows_of_person, team_id=team_id)
        namespaces = [
            memory_app.resolve_namespace("conversation", {"conversation_id": key})
            for key in conversations.values_list("key", flat=True)
        ]
        for run_id in runs.values_list("pk", flat=True):
            namespaces += [f"ai:notes:{run_id}", f"ai:workflow:{run_id}"]
        return namespaces

    def list_runs_of_person(self, team_id: UUID, subject: str) -> list[str]:
        runs = Run.objects.unscoped().filter(erasure.match_person(subject), team_id=team_id)
        return [str(pk) for pk in runs.values_list("pk", flat=True)]

    def list_records_of_person(self, team_id: UUID, subject: str) -> Iterator[Record]:
        return erasure.export_person(team_id, subject)

    def store_document(
        self, principal: Principal, team_id: UUID, content: bytes, name: str
    ) -> StoredDocument:
        try:
            file = documents.store_original(principal, team_id, content, name)
        except FileRefused as refused:
            is_too_large = isinstance(refused, FileTooLarge)
            errors = memory_app.errors
            fault = errors.ValueTooLarge if is_too_large else errors.InvalidInput
            raise fault(f"{name}: {refused}") from None
        return StoredDocument(file.pk, file.name, file.size, file.subject)

    def read_document(self, team_id: UUID, file_id: UUID) -> bytes:
        try:
            return documents.read_original(team_id, file_id)
        except NotFound:
            message = _("The original of the document was deleted.")
            raise memory_app.errors.NotFound(message) from None

    def extract_text(self, content: bytes, name: str) -> str:
        try:
            return documents.extract_text(content, name)
        except DocumentUnreadable as error:
            raise memory_app.errors.InvalidInput(f"{translate_error(str(error))}.") from None

    def remove_documents(
        self, team_id: UUID, file_ids: Sequence[UUID], *, dry_run: bool = False
    ) -> int:
        return documents.remove_originals(team_id, file_ids, dry_run=dry_run)

    def check_erasable(self, team_id: UUID, subject: str) -> None:
        erasure.check_erasable(team_id, subject)

    def count_kept(self, team_id: UUID, subject: str) -> Mapping[str, int]:
        return erasure.count_kept(team_id, subject)

    def erase_person(self, team_id: UUID, subject: str, *, dry_run: bool) -> Mapping[str, int]:
        return erasure.erase_person(team_id, subject, dry_run=dry_run)


def _find_owner(team_id: UUID, caller: EmbeddingCaller) -> CallOwner:
    return find_owner(
        team_id,
        caller.principal,
        run_id=caller.run_id,
        subject=caller.subject,
        channel=caller.channel,
    )


def _build_failure(call: EmbeddingCall, config: ProviderConfig) -> ModelFailed | None:
    """Return the failure of a call in the words of other calls to its provider."""
    if call.error is None:
        return None
    # On demand, because the openai package takes long to load.
    from workflows.llm.failures import build_failure  # noqa: PLC0415

    return build_failure(call.error, provider=config.name, model=call.model, address=config.address)


def _filter_runs(rows: QuerySet[Run], run_filter: memory_host.RunFilter) -> QuerySet[Run]:
    if run_filter.workflow:
        rows = rows.filter(workflow_id__in=_parse_uuids([run_filter.workflow]))
    days = RunFilter(person=run_filter.person, since=run_filter.since, until=run_filter.until)
    return days.apply(rows)


def _build_team_run(run: Run, task: str) -> TeamRun:
    return TeamRun(
        str(run.pk),
        str(run.workflow_id),
        run.workflow.name,
        _shorten(run.summary),
        task,
        run.person,
        run.status,
        run.status_text,
        run.created_at,
        reverse("workflows:run", args=[run.pk]),
    )


def _list_conversation_names(team_id: UUID, keys: Sequence[str]) -> Mapping[str, str]:
    """Return the name of each conversation, or its first message."""
    messages = Message.objects.unscoped().filter(conversation=OuterRef("pk")).order_by("number")
    rows = (
        Conversation.objects.unscoped()
        .filter(team_id=team_id, key__in=keys)
        .annotate(first_query=Subquery(messages.values("query")[:1]))
        .values_list("key", "name", "first_query")
    )
    return {key: _shorten(name or query or "") for key, name, query in rows}


def _list_workflow_names(team_id: UUID, ids: Sequence[str]) -> Mapping[str, str]:
    rows = Workflow.objects.unscoped().filter(team_id=team_id, pk__in=_parse_uuids(ids))
    return {str(pk): name for pk, name in rows.values_list("pk", "name")}


def _list_stream_names(team_id: UUID, streams: Sequence[str]) -> Mapping[str, str]:
    """Return the name of the workflow, or of all workflows for a memory that several share."""
    rows = StreamName.objects.unscoped().filter(team_id=team_id, name__in=streams)
    workflow_ids = {
        stream: [str(pk) for pk in ids] for stream, ids in rows.values_list("name", "workflow_ids")
    }
    names = _list_workflow_names(team_id, [pk for ids in workflow_ids.values() for pk in ids])
    return {
        stream: " + ".join(names[pk] for pk in ids)
        for stream, ids in workflow_ids.items()
        if all(pk in names for pk in ids)
    }


def _list_run_names(team_id: UUID, ids: Sequence[str]) -> Mapping[str, str]:
    rows = Run.objects.unscoped().filter(team_id=team_id, pk__in=_parse_uuids(ids))
    return {str(pk): name for pk, name in rows.values_list("pk", "workflow__name")}


_NAME_FUNCTIONS: dict[str, Callable[[UUID, Sequence[str]], Mapping[str, str]]] = {
    "conversation": _list_conversation_names,
    "global": _list_workflow_names,
    "workflow": _list_stream_names,
    "run": _list_run_names,
    "run_metadata": _list_run_names,
}


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_LENGTH else f"{words[: MAX_LENGTH - 1].rstrip()}…"


def _parse_uuids(ids: Iterable[str]) -> list[UUID]:
    """Return the ids that are UUIDs."""
    uuids = []
    for text in ids:
        try:
            uuids.append(UUID(text))
        except ValueError:
            continue
    return uuids
