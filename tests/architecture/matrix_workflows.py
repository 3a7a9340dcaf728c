"""Rows and objects of workflows.

How to fill it: a maker in OBJECTS for every id that appears in a path or body, and, so that the row-level-security
test has something to leak, for every table with a team (a maker may fill several). A maker gets a person who owns
a team and a canary; it puts the canary into whatever can be read of the object and returns its id. Then a Row for
every route and method; see matrix_accounts.py for examples. A route without a row fails the build with its name.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _workflow(person: Person, canary: str) -> Any:
    from tests.factories.workflows import document, make_workflow

    source = document(canary) | {
        "environment_variables": [{"name": "KEY", "value_type": "secret", "value": canary}],
        "conversation_variables": [{"name": "seen", "type": "string", "default": canary}],
    }
    return make_workflow(person, canary, source).pk


def _published(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_version, make_workflow

    workflow = make_workflow(person, canary)
    make_version(person, workflow, note=canary)
    return workflow.pk


def _number(person: Person, canary: str) -> Any:
    """Numbers begin anew in each workflow: what tells teams apart is the workflow before it."""
    return 1 if canary.endswith("7") else 2


def _sample(person: Person, canary: str) -> Any:
    return "chatbot"  # belongs to nobody


def _run(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_journal, make_run, make_workflow

    workflow = make_workflow(person, canary)
    run = make_run(person, workflow, inputs={"text": canary}, outputs={"text": canary})
    make_journal(run, canary)
    return run.pk


def _run_for_ada(person: Person, canary: str) -> Any:
    """Somebody started it for her, so that she may see it and nobody else but who started it."""
    from accounts.models import User
    from accounts.tenancy import tenant
    from tests.factories.workflows import make_journal, make_run, make_workflow

    with tenant([person.team.pk]):
        ada = User.objects.filter(name="Ada", memberships__team=person.team).first()
    given = {"subject": str(ada.pk), "subject_user": ada} if ada else {}
    texts = {"inputs": {"text": canary}, "outputs": {"text": canary}}
    run = make_run(person, make_workflow(person, canary), **texts, **given)
    make_journal(run, canary)
    return run.pk


def _chat(person: Person, canary: str) -> Any:
    from workflows.services.editor import drafts
    from workflows.services.samples.samples import copy_sample

    made = copy_sample(person.principal, team_id=person.team.pk, slug="chatbot")
    return drafts.rename(person.principal, workflow=made, name=canary).pk


def _account(person: Person, canary: str) -> Any:
    return person.user.pk


def _conversation(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_message, make_workflow

    return make_message(person, make_workflow(person, canary), query=canary).conversation.key


def _provider(person: Person, canary: str) -> Any:
    from tests.factories.workflows import make_provider

    return make_provider(person, name=canary).pk


def _unreachable_provider(person: Person, canary: str) -> Any:
    """Its address is one that the guarded client refuses, so that trying it asks nobody."""
    from accounts.tenancy import tenant
    from tests.factories.workflows import make_provider
    from workflows.models import ModelProvider
    from workflows.services.credentials import update_provider

    name = f"{canary} elsewhere"
    with tenant([person.team.pk]):
        existing = ModelProvider.objects.unscoped().filter(team_id=person.team.pk, name=name)
        if existing:
            return existing[0].pk
    made = make_provider(person, name=name)
    changed = update_provider(person.principal, provider=made, base_url="http://127.0.0.1:9/v1")
    return changed.pk


def _added_model(person: Person, canary: str) -> Any:
    """A reranking model of the unreachable provider."""
    from accounts.tenancy import tenant
    from workflows.models import ProviderModel

    with tenant([person.team.pk]):
        model = ProviderModel.objects.create(
            team_id=person.team.pk,
            provider_id=_unreachable_provider(person, canary),
            type="rerank",
            name=f"{canary} {uuid4()}",
        )
    return model.pk


def _mapping(person: Person, canary: str) -> Any:
    """A provider and a knowledge base that answer for others, and a call that the provider answers now."""
    from datetime import timedelta

    from django.utils import timezone

    from accounts.tenancy import tenant
    from tests.factories.workflows import make_provider
    from workflows.models import KnowledgeMapping, ModelCall
    from workflows.services.models.mappings import set_mapping

    target = make_provider(person, name=f"{canary} mapped")
    with tenant([person.team.pk]):
        ModelCall.objects.create(
            team_id=person.team.pk, provider=target, expires_at=timezone.now() + timedelta(hours=1)
        )
        KnowledgeMapping.objects.create(
            team_id=person.team.pk, data_set=canary, knowledge_base="global:default"
        )
    return set_mapping(person.principal, name=canary, model=canary, target=target).pk


def _credential(person: Person, canary: str) -> Any:
    from workflows.services.credentials import create_credential

    made = create_credential(
        person.principal, team_id=person.team.pk, name=f"{canary} key", secret="sk-0123456789abcdef"
    )
    return made.pk


OBJECTS: dict[str, Maker] = {
    "workflow": _workflow,
    "published workflow": _published,
    "version number": _number,
    "sample": _sample,
    "node kind": lambda _person, _canary: "start",
    "chat": _chat,
    "run": _run,
    "run for ada": _run_for_ada,
    "conversation": _conversation,
    "account": _account,
    "provider": _provider,
    "unreachable provider": _unreachable_provider,
    "added model": _added_model,
    "model type": lambda _person, _canary: "rerank",
    "mapping": _mapping,
    "credential": _credential,
}

WORKFLOW = {"workflow_id": "workflow"}
PUBLISHED = {"workflow_id": "published workflow"}
VERSION = {**PUBLISHED, "number": "version number"}
CHAT = {"workflow_id": "chat"}
RUN = {"run_id": "run"}  # of a team-mate: no role opens it
RUN_FOR_ADA = {"run_id": "run for ada"}
# What a start names besides the workflow: another's conversation, another's account
TALK = {"conversation": "conversation"}
TALK_ID = {"conversation_id": "conversation"}
# A key is one team's: the same words open a new conversation in another, and nothing of the first is in it
KEY_IS_FREE = {"workflow_id": 404, "conversation_id": 202}
KEY_IS_FREE_HERE = {"workflow_id": 404, "conversation": 302}
PROVIDER = {"provider_id": "provider"}
UNREACHABLE = {"provider_id": "unreachable provider"}
ADDED_MODEL = {**UNREACHABLE, "model_id": "added model"}
MODEL_TYPE = {"model_type": "model type"}  # a word, the same in every team
NEW_MODEL = {"type": "rerank", "name": "ranker"}
CREDENTIAL = {"credential_id": "credential"}
SAMPLE = {"slug": "sample"}
ADDRESS = {"name": "mine", "base_url": "http://127.0.0.1:9/v1", "save_anyway": "1"}
DOCUMENT = {
    "document": {
        "version": "0.1.0",
        "nodes": [
            {"id": "start", "data": {"type": "start"}},
            {"id": "end", "data": {"type": "end"}},
        ],
        "edges": [{"source": "start", "target": "end"}],
    }
}

PASTED = {"document": json.dumps(DOCUMENT["document"])}
SAID = {"query": "Hello?"}
DRAFT = {"version": "draft"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS: list[Row] = [
    # Workflows over the API; an outsider and a key act in their own team where no id is named
    Row("GET", "api/v1/workflows", "- 200 200 200 200 200"),
    Row("POST", "api/v1/workflows", "- 201 403 201 201 201", body=DOCUMENT),
    Row("POST", "api/v1/workflows/validate", "- 200 200 200 200 200", body=DOCUMENT),
    Row("GET", "api/v1/workflows/samples", "- 200 200 200 200 200"),
    Row("POST", "api/v1/workflows/samples/<slug:slug>/copy", "- 201 403 201 201 201", {"slug": "sample"}, {}, foreign=201),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>", "- 404 200 200 200 404", WORKFLOW),
    Row("PATCH", "api/v1/workflows/<uuid:workflow_id>", "- 404 403 200 200 404", WORKFLOW, {"name": "x"}),
    Row("PATCH", "api/v1/workflows/<uuid:workflow_id>", "- 404 403 200 200 404", WORKFLOW, {"is_tool": True}),
    Row("GET", "api/v1/workflow-tools", "- 200 200 200 200 200"),
    Row("GET", "api/v1/node-kinds", "- 200 200 200 200 200"),
    Row("GET", "api/v1/node-kinds/<str:name>", "- 200 200 200 200 200", {"name": "node kind"}, foreign=200),
    Row("GET", "api/v1/suggested-questions", "- 422 422 422 422 422"),
    Row("DELETE", "api/v1/workflows/<uuid:workflow_id>", "- 404 403 204 204 404", WORKFLOW),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/restore", "- 404 403 200 200 404", WORKFLOW, {}),
    Row("PUT", "api/v1/workflows/<uuid:workflow_id>/draft", "- 404 403 200 200 404", WORKFLOW, DOCUMENT),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/export", "- 404 200 200 200 404", WORKFLOW),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/report", "- 404 200 200 200 404", WORKFLOW),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/validate", "- 404 200 200 200 404", WORKFLOW, {}),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/duplicate", "- 404 403 201 201 404", WORKFLOW, {}),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/publish", "- 404 403 201 201 404", WORKFLOW, {}),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/versions", "- 404 200 200 200 404", PUBLISHED),
    Row("GET", "api/v1/workflows/<uuid:workflow_id>/versions/<int:number>", "- 404 200 200 200 404", VERSION),
    Row("GET", "api/v1/workflows", "- 200 200 200 200 200", {"team": "team"}, {}, foreign=200),
    # Runs over the API: who started one or whom it is for, and nobody else of the team
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/runs", "- 404 403 202 202 404", WORKFLOW, DRAFT),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/runs", "- 404 403 202 202 404", CHAT, {**SAID, **DRAFT}),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/runs", "- 404 403 404 404 404", {**CHAT, **TALK_ID}, {**SAID, **DRAFT}, foreign=KEY_IS_FREE),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/runs", "- 404 403 404 404 404", {**WORKFLOW, **TALK_ID}, DRAFT, foreign=KEY_IS_FREE),
    Row("POST", "api/v1/workflows/<uuid:workflow_id>/runs", "- 404 403 404 404 404", {**WORKFLOW, "user": "account"}, DRAFT),
    Row("GET", "api/v1/runs", "- 200 200 200 200 200"),
    Row("GET", "api/v1/runs", "- 404 200 200 200 404", {"workflow": "workflow"}, {}),
    Row("GET", "api/v1/runs/<uuid:run_id>", "- 404 404 404 404 404", RUN),
    Row("GET", "api/v1/runs/<uuid:run_id>", "- 404 404 404 200 404", RUN_FOR_ADA),
    Row("GET", "api/v1/runs/<uuid:run_id>/events", "- 404 404 404 404 404", RUN),
    Row("GET", "api/v1/runs/<uuid:run_id>/events", "- 404 404 404 200 404", RUN_FOR_ADA),
    Row("POST", "api/v1/runs/<uuid:run_id>/continue", "- 404 404 404 404 404", RUN, {}),
    Row("POST", "api/v1/runs/<uuid:run_id>/continue", "- 404 404 404 409 404", RUN_FOR_ADA, {}),
    Row("POST", "api/v1/runs/<uuid:run_id>/cancel", "- 404 404 404 404 404", RUN, {}),
    Row("POST", "api/v1/runs/<uuid:run_id>/cancel", "- 404 404 404 200 404", RUN_FOR_ADA, {}),
    # Model providers and credentials: people who manage them, and never a key
    Row("GET", "api/v1/providers", "- 200 403 200 200 403"),
    Row("POST", "api/v1/providers", "- 201 403 403 201 403", body={"name": "mine", "kind": "offline"}),
    Row("GET", "api/v1/providers/<uuid:provider_id>", "- 404 403 200 200 404", PROVIDER),
    Row("PATCH", "api/v1/providers/<uuid:provider_id>", "- 404 403 403 200 404", PROVIDER, {"enabled": False}),
    Row("POST", "models/<uuid:provider_id>/prices/", "- 404 403 403 302 -", PROVIDER, {}),
    Row("POST", "models/<uuid:provider_id>/limits/", "- 404 403 403 302 -", PROVIDER, {}),
    Row("POST", "api/v1/providers/<uuid:provider_id>/test", "- 404 403 403 200 404", UNREACHABLE, {}),
    Row("GET", "api/v1/providers/<uuid:provider_id>/models", "- 404 403 200 200 404", PROVIDER),
    Row("POST", "api/v1/providers/<uuid:provider_id>/models", "- 404 403 403 200 404", UNREACHABLE, NEW_MODEL),
    Row("POST", "api/v1/providers/<uuid:provider_id>/models/<uuid:model_id>/test", "- 404 403 403 200 404", ADDED_MODEL, {}),
    Row("DELETE", "api/v1/providers/<uuid:provider_id>/models/<uuid:model_id>", "- 404 403 403 204 404", ADDED_MODEL),
    Row("GET", "api/v1/models/default/<model_type>", "- 200 403 200 200 403", MODEL_TYPE, foreign=200),
    Row("PUT", "api/v1/models/default/<model_type>", "- 200 403 403 200 403", MODEL_TYPE, {}, foreign=200),
    Row("GET", "api/v1/models/default", "- 200 403 200 200 403"),
    Row("PUT", "api/v1/models/default", "- 404 403 403 404 403", body={}),
    Row("GET", "api/v1/models/fallback", "- 200 403 200 200 403"),
    Row("PUT", "api/v1/models/fallback", "- 200 403 403 200 403", body={}),
    Row("GET", "api/v1/models/mappings", "- 200 403 200 200 403"),
    Row("PUT", "api/v1/models/mappings", "- 404 403 403 404 403", body={"provider": "openai", "target": "gone"}),
    Row("DELETE", "api/v1/models/mappings", "- 404 403 403 404 403", body={"provider": "openai"}),
    Row("DELETE", "api/v1/providers/<uuid:provider_id>", "- 404 403 403 204 404", PROVIDER),
    Row("GET", "api/v1/credentials", "- 200 403 200 200 403"),
    Row("POST", "api/v1/credentials", "- 201 403 403 201 403", body={"name": "mine", "secret": "s"}),
    Row("PUT", "api/v1/credentials/<uuid:credential_id>/secret", "- 404 403 403 200 404", CREDENTIAL, {"secret": "s"}),
    Row("DELETE", "api/v1/credentials/<uuid:credential_id>", "- 404 403 403 204 404", CREDENTIAL),
    # Pages: samples and workflows
    Row("GET", "", "- 200 200 200 200 -"),
    Row("GET", "samples/", "- 200 200 200 200 -"),
    Row("GET", "search/", "- 200 200 200 200 -"),
    Row("POST", "samples/<slug:slug>/copy/", "- 302 403 302 302 -", SAMPLE, {}, foreign=302),
    Row("GET", "workflows/", "- 200 200 200 200 -"),
    Row("GET", "workflows/new/", "- 200 403 200 200 -"),
    Row("POST", "workflows/new/", "- 302 403 302 302 -", body={"mode": "workflow", "name": "x"}),
    Row("GET", "workflows/import/", "- 200 403 200 200 -"),
    Row("POST", "workflows/import/", "- 302 403 302 302 -", body=PASTED),
    Row("GET", "workflows/<uuid:workflow_id>/", "- 404 200 200 200 -", WORKFLOW),
    Row("GET", "workflows/<uuid:workflow_id>/", "- 404 200 200 200 -", CHAT),
    Row("GET", "workflows/<uuid:workflow_id>/problems/", "- 404 200 200 200 -", WORKFLOW),
    Row("GET", "workflows/<uuid:workflow_id>/rename/", "- 404 403 200 200 -", WORKFLOW),
    Row("POST", "workflows/<uuid:workflow_id>/rename/", "- 404 403 302 302 -", WORKFLOW, {"name": "x"}),
    Row("GET", "workflows/<uuid:workflow_id>/replace/", "- 404 403 200 200 -", WORKFLOW),
    Row("POST", "workflows/<uuid:workflow_id>/replace/", "- 404 403 302 302 -", WORKFLOW, PASTED),
    Row("GET", "workflows/<uuid:workflow_id>/report/", "- 404 200 200 200 -", WORKFLOW),
    Row("POST", "workflows/<uuid:workflow_id>/report/model/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("POST", "workflows/<uuid:workflow_id>/report/tool/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("POST", "workflows/<uuid:workflow_id>/report/kind/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("POST", "workflows/<uuid:workflow_id>/report/undo/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("POST", "workflows/<uuid:workflow_id>/report/knowledge-base/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("GET", "workflows/<uuid:workflow_id>/tool/", "- 404 403 200 200 -", WORKFLOW),
    Row("POST", "workflows/<uuid:workflow_id>/tool/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("GET", "workflows/<uuid:workflow_id>/callable/", "- 404 200 200 200 -", {**WORKFLOW}),
    Row("POST", "workflows/<uuid:workflow_id>/publish/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("POST", "workflows/<uuid:workflow_id>/duplicate/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("POST", "workflows/<uuid:workflow_id>/archive/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("POST", "workflows/<uuid:workflow_id>/restore/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("GET", "workflows/archived/", "- 200 200 200 200 -"),
    Row("GET", "workflows/<uuid:workflow_id>/export/", "- 404 200 200 200 -", WORKFLOW),
    # Pages: runs
    Row("POST", "workflows/<uuid:workflow_id>/say/", "- 404 403 302 302 -", CHAT, SAID),
    Row("POST", "workflows/<uuid:workflow_id>/say/", "- 404 404 404 404 -", {**CHAT, **TALK}, SAID, foreign=KEY_IS_FREE_HERE),
    Row("POST", "workflows/<uuid:workflow_id>/start/", "- 404 403 302 302 -", WORKFLOW, {}),
    Row("POST", "workflows/<uuid:workflow_id>/start/", "- 404 302 302 302 -", PUBLISHED, {}),
    Row("POST", "workflows/<uuid:workflow_id>/start/", "- 404 403 422 422 -", {**WORKFLOW, **TALK}, {}, foreign=KEY_IS_FREE_HERE),
    Row("POST", "workflows/<uuid:workflow_id>/start/", "- 404 404 404 404 -", {**WORKFLOW, "person": "account"}, {}),
    Row(
        "PATCH",
        "api/v1/conversations/<path:conversation_id>",
        "- 404 404 404 404 404",
        TALK_ID,
        {"name": "Mine"},
    ),
    Row("DELETE", "api/v1/conversations/<path:conversation_id>", "- 404 404 404 404 404", TALK_ID),
    Row("GET", "api/v1/conversations", "- 200 200 200 200 200"),
    Row("GET", "api/v1/messages", "- 422 422 422 422 422"),
    Row("GET", "runs/", "- 200 200 200 200 -"),
    Row("GET", "runs/", "- 404 200 200 200 -", {"workflow": "workflow"}, {}),
    Row("GET", "runs/<uuid:run_id>/", "- 404 404 404 404 -", RUN),
    Row("GET", "runs/<uuid:run_id>/", "- 404 404 404 200 -", RUN_FOR_ADA),
    Row("POST", "runs/<uuid:run_id>/continue/", "- 404 404 404 404 -", RUN, {}),
    Row("POST", "runs/<uuid:run_id>/continue/", "- 404 404 404 409 -", RUN_FOR_ADA, {}),
    Row("POST", "runs/<uuid:run_id>/cancel/", "- 404 404 404 404 -", RUN, {}),
    Row("POST", "runs/<uuid:run_id>/cancel/", "- 404 404 404 302 -", RUN_FOR_ADA, {}),
    Row("GET", "runs/<uuid:run_id>/events/", "- 404 404 404 404 -", RUN),
    Row("GET", "runs/<uuid:run_id>/events/", "- 404 404 404 200 -", RUN_FOR_ADA),
    # Pages: models
    Row("GET", "models/", "- 200 403 200 200 -"),
    Row("POST", "models/", "- 302 403 403 302 -", body=ADDRESS),
    Row("POST", "models/offered/", "- 200 403 403 200 -", body=ADDRESS),
    Row("GET", "models/local/", "- 200 403 403 200 -"),
    Row("POST", "models/default/", "- 404 403 403 404 -", body={}),
    Row("POST", "models/fallback/", "- 302 403 403 302 -", body={}),
    Row("POST", "models/default/<str:model_type>/", "- 302 403 403 302 -", MODEL_TYPE, {}, foreign=302),
    Row("POST", "models/<uuid:provider_id>/added/", "- 404 403 403 302 -", UNREACHABLE, NEW_MODEL),
    Row("POST", "models/<uuid:provider_id>/added/<uuid:model_id>/test/", "- 404 403 403 302 -", ADDED_MODEL, {}),
    Row("POST", "models/<uuid:provider_id>/added/<uuid:model_id>/delete/", "- 404 403 403 302 -", ADDED_MODEL, {}),
    Row("POST", "models/mapping/", "- 404 403 403 404 -", body={"provider": "openai"}),
    Row("POST", "models/<uuid:provider_id>/test/", "- 404 403 403 200 -", UNREACHABLE, {}),
    Row("POST", "models/<uuid:provider_id>/delete/", "- 404 403 403 302 -", PROVIDER, {}),
]  # fmt: skip
