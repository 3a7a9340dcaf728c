"""What the dialog of a published workflow offers to paste: it has to work as it stands."""

import ast
import json
import re
import shlex
import tomllib
from typing import Any

import pytest
from django.test import RequestFactory
from django.urls import reverse

from tests.factories.workflows import document, make_version, make_workflow
from tests.support.cast import Person
from workflows.models.documents import from_json
from workflows.views.publishing.api_examples import build_snippets


pytestmark = pytest.mark.django_db


def build(alice: Person, source: Any, name: str = 'It\'s "new"') -> dict[str, str]:
    workflow = make_workflow(alice, name, source)
    version = make_version(alice, workflow)
    request = RequestFactory().get("/")
    snippets = build_snippets(request, workflow, from_json(version.snapshot.document))
    return {snippet.slug: snippet.text for snippet in snippets}


def test_python_is_python_and_the_configuration_is_json(alice: Person):
    texts = build(alice, document(required=True, label='Say "it"'))

    ast.parse(texts["python"])
    ast.parse(texts["openai"])
    server = json.loads(texts["mcp"])["mcpServers"]["mnemoflow"]
    assert server["url"] == "http://testserver/mcp/?user=ana"
    assert server["headers"] == {"Authorization": "Bearer mf_…"}  # no client expands $NAME there
    codex = tomllib.loads(texts["codex"])["mcp_servers"]["mnemoflow"]
    assert codex == {"url": server["url"], "bearer_token_env_var": "MNEMOFLOW_KEY"}
    command = shlex.split(texts["claude-code"].replace("\\\n", " "))
    assert command[3:] == [
        *("--transport", "http", "mnemoflow", server["url"]),
        *("--header", "Authorization: Bearer $MNEMOFLOW_KEY"),
    ]


def test_clients_of_openai_send_inputs_as_metadata(alice: Person):
    needs_input = build(alice, document(required=True, label="Text"))["openai"]
    needs_none = build(alice, document(), "Other")["openai"]

    assert "metadata={'inputs.text': 'Text'}," in needs_input
    assert "metadata" not in needs_none


def test_clients_of_dify_call_the_address_of_the_workflows_kind(alice: Person):
    assert "http://testserver/v1/workflows/run" in build(alice, document())["dify"]


def test_dialog_has_each_address_to_copy_for_programs_that_ask_for_it_alone(alice: Person):
    workflow = make_workflow(alice, "Echo", document())
    make_version(alice, workflow)

    page = alice.client.get(reverse("workflows:detail", args=[workflow.pk]), {"published": ""})

    addresses = dict(re.findall(r'id="address-([^"]+)">([^<]+)</span>', page.content.decode()))
    assert addresses == {
        "openai-url": "http://testserver/openai/v1",
        "openai-model": workflow.slug,
        "dify-url": "http://testserver/v1",
        "mcp-url": "http://testserver/mcp/",
    }
