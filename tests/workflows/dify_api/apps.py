"""Apps as Dify's documents describe them, and the programs that call them with a key of one app."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from django.test import AsyncClient

from accounts.models import Team
from accounts.roles import SCOPES
from accounts.services import issue_key
from accounts.tenancy import tenant
from tests.factories.workflows import make_version, make_workflow
from tests.support.cast import KeyClient, Person
from workflows.models import Workflow


FIELDS = [
    {
        "variable": "name",
        "type": "text-input",
        "label": "Name",
        "required": False,
        "max_length": 48,
    },
    {"variable": "mood", "type": "select", "label": "Mood", "options": ["good", "bad"]},
    {"variable": "paper", "type": "file", "label": "Paper", "allowed_file_types": ["document"]},
]
FEATURES = {
    "opening_statement": "Hello!",
    "suggested_questions": ["Who are you?", "What can you do?"],
    "suggested_questions_after_answer": {"enabled": True},
    "file_upload": {
        "enabled": True,
        "allowed_file_types": ["document"],
        "allowed_file_upload_methods": ["local_file"],
        "number_limits": 2,
    },
}


def node(name: str, kind: str, **data: Any) -> dict[str, Any]:
    parent = data.pop("parent", None)
    described = {"id": name, "data": {"type": kind, "title": name.title(), **data}}
    return described | ({"parentId": parent} if parent else {})


def edge(source: str, target: str, handle: str = "source") -> dict[str, Any]:
    return {
        "id": f"{source}-{target}-{handle}",
        "source": source,
        "target": target,
        "sourceHandle": handle,
        "targetHandle": "target",
    }


def build_document(
    mode: str, nodes: list[Any], edges: list[Any], **workflow: Any
) -> dict[str, Any]:
    return {
        "app": {"mode": mode, "name": "Echo", "description": "Says it again."},
        "kind": "app",
        "version": "0.3.0",
        "workflow": {"graph": {"nodes": nodes, "edges": edges}, **workflow},
    }


def build_chat(answer: str = "You said {{#sys.query#}}", **workflow: Any) -> dict[str, Any]:
    nodes = [node("start", "start", variables=FIELDS), node("answer", "answer", answer=answer)]
    variables = [
        {
            "id": "v1",
            "name": "topic",
            "value_type": "string",
            "value": "tea",
            "description": "What",
        },
        {"id": "v2", "name": "count", "value_type": "number", "value": 1, "description": ""},
    ]
    given = {"features": FEATURES, "conversation_variables": variables, **workflow}
    return build_document("advanced-chat", nodes, [edge("start", "answer")], **given)


def build_workflow(**workflow: Any) -> dict[str, Any]:
    outputs = [{"variable": "text", "value_selector": ["start", "name"]}]
    nodes = [node("start", "start", variables=FIELDS), node("end", "end", outputs=outputs)]
    return build_document("workflow", nodes, [edge("start", "end")], **workflow)


def build_question() -> dict[str, Any]:
    """A workflow that asks a person."""
    form = {
        "form_content": "Go on? {{#$output.why#}}",
        "inputs": [{"output_variable_name": "why", "type": "text-input"}],
        "user_actions": [{"id": "yes", "title": "Yes"}, {"id": "no", "title": "No"}],
    }
    outputs = [{"variable": "text", "value_selector": ["ask", "why"]}]
    nodes = [
        node("start", "start", variables=[]),
        node("ask", "human-input", **form),
        node("end", "end", outputs=outputs),
    ]
    edges = [edge("start", "ask"), edge("ask", "end", "yes"), edge("ask", "end", "no")]
    return build_document("workflow", nodes, edges)


def build_failure(mode: str = "advanced-chat") -> dict[str, Any]:
    """An app whose code node raises."""
    code = "def main():\n    return {'text': 1 / 0}\n"
    outputs = {"text": {"type": "string"}}
    nodes = [
        node("start", "start", variables=[]),
        node("code", "code", code=code, code_language="python3", variables=[], outputs=outputs),
    ]
    if mode == "advanced-chat":
        nodes.append(node("answer", "answer", answer="{{#code.text#}}"))
    else:
        end = [{"variable": "text", "value_selector": ["code", "text"]}]
        nodes.append(node("answer", "end", outputs=end))
    return build_document(mode, nodes, [edge("start", "code"), edge("code", "answer")])


def publish(person: Person, source: Any, name: str = "Echo") -> Workflow:
    workflow = make_workflow(person, name, source)
    make_version(person, workflow)
    return workflow


def make_app_key(owner: Person, workflow: Workflow | None, **given: Any) -> tuple[Any, str]:
    return issue_key(
        principal=owner.principal,
        team=owner.team,
        name="app",
        scopes=given.pop("scopes", set(SCOPES)),
        workflow_id=workflow.pk if workflow else None,
        **given,
    )


def make_program(owner: Person, workflow: Workflow | None) -> KeyClient:
    return KeyClient(*make_app_key(owner, workflow))


class AsyncProgram(AsyncClient):
    """Sends the key with every request, and JSON as Dify's clients do."""

    def __init__(self, secret: str) -> None:
        super().__init__()
        self._secret = secret

    async def request(self, **request: Any) -> Any:
        header = (b"authorization", f"Bearer {self._secret}".encode())
        request["headers"] = [*request["headers"], header]
        return await super().request(**request)

    async def send(self, path: str, body: Any, **headers: str) -> Any:
        return await self.post(
            f"/v1{path}", data=body, content_type="application/json", headers=headers
        )


async def read_frames(answer: Any) -> list[bytes]:
    """The frames of a stream, as they were sent."""
    content = b"".join([part async for part in answer.streaming_content])
    assert content.endswith(b"\n\n")
    return content.removesuffix(b"\n\n").split(b"\n\n")


async def in_tenant(read: Callable[[], Any]) -> Any:
    """What a function reads of the rows of all teams."""

    def run() -> Any:
        with tenant(list(Team.objects.values_list("pk", flat=True))):
            return read()

    return await asyncio.to_thread(run)


def parse(frames: list[bytes]) -> list[dict[str, Any]]:
    """The events. Each is one line, and none has a name of its own but a ping."""
    events = []
    for frame in frames:
        if frame != b"event: ping":
            assert frame.startswith(b"data: {")
            assert b"\n" not in frame
            events.append(json.loads(frame.removeprefix(b"data: ")))
    return events
