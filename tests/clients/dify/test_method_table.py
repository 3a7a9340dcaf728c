"""The table of Dify's methods × its clients: each client, unmodified, calls all it can on a real server with a worker."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients.conftest import PROPERTY
from tests.clients.environments import run_node_script, run_script
from tests.support.stack import LiveStack
from tests.workflows.dify_api.apps import build_chat, build_document, build_workflow, edge, node


FOLDER: Final = Path(__file__).parent
# Client → its environment, its script, and the methods of P0 and P1 that it has.
_CHAT: Final = ("chat, blocking", "chat, streaming")
_FLOW: Final = ("workflow, blocking", "workflow, streaming")
_COMPLETION: Final = ("completion, blocking", "completion, streaming")
_STOPS: Final = ("chat, stop", "workflow, stop")
_LISTS: Final = ("list conversations", "list messages")
CLIENTS: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "dify-client (PyPI)": (
        "dify-client", "play_plain.py",
        (*_CHAT, *_COMPLETION, *_LISTS, "rename conversation", "give feedback", "get parameters",
         "upload file"),
    ),
    "dify-client-python": (
        "dify-client-python", "play_typed.py",
        (*_CHAT, *_FLOW, *_STOPS, *_COMPLETION, "completion, stop", "upload file",
         "give feedback", "suggest questions"),
    ),
    "dify-api-client": (
        "dify-api-client", "play_typed.py",
        (*_CHAT, *_FLOW, *_STOPS, *_COMPLETION, "completion, stop", *_LISTS, "upload file",
         "give feedback", "suggest questions"),
    ),
    "dify-oapi2": (
        "dify-oapi2", "play_oapi2.py",
        (*_CHAT, *_FLOW, *_STOPS, *_COMPLETION, *_LISTS, "get run", "list runs",
         "rename conversation", "delete conversation", "list conversation variables",
         "give feedback", "list feedback", "suggest questions", "upload file",
         "get parameters", "get info", "get meta", "get site"),
    ),
    "dify-client (npm)": (
        "dify-node", "play_node_client.mjs",
        (*_CHAT, *_FLOW, *_COMPLETION, *_LISTS, "rename conversation", "delete conversation",
         "give feedback", "get parameters", "upload file"),
    ),
    "dify-ai-provider": ("dify-node", "play_ai_provider.mjs", _CHAT),
}  # fmt: skip

_CODE: Final = """
import json
from accounts.models import User
from accounts.principals import load_user_principal
from accounts.services import create_team
from accounts.tenancy import tenant
from config.ids import uuid7
from types import SimpleNamespace
from tests.workflows.dify_api.apps import make_app_key, publish

owner = User.objects.create_user(f"{uuid7().hex}@example.org", name="Pia")
team = create_team(owner=owner, name="Dify")
person = SimpleNamespace(user=owner, team=team, principal=load_user_principal(owner))
keys = {}
with tenant([team.pk]):
    for name, document in json.loads(DOCUMENTS).items():
        keys[name] = make_app_key(person, publish(person, document, name))[1]
print("made=" + json.dumps(keys))
"""


def build_slow(mode: str) -> dict[str, Any]:
    """An app that waits a minute."""
    outputs = [{"variable": "text", "value_selector": ["sys", "user_id"]}]
    last = (
        node("last", "answer", answer="late")
        if mode == "advanced-chat"
        else node("last", "end", outputs=outputs)
    )
    nodes = [
        node("start", "start", variables=[]),
        node("wait", "delay", mode="duration", amount=60, unit="seconds"),
        last,
    ]
    return build_document(mode, nodes, [edge("start", "wait"), edge("wait", "last")])


DOCUMENTS: Final = {
    "chat": build_chat(),
    "flow": build_workflow(),
    "slow_chat": build_slow("advanced-chat"),
    "slow_flow": build_slow("workflow"),
}


@pytest.fixture(scope="module")
def keys(_stack: LiveStack) -> Mapping[str, str]:
    code = f"DOCUMENTS = {json.dumps(json.dumps(DOCUMENTS))}\n{_CODE}"
    printed = _stack.manage("shell", "--no-imports", "-c", code)
    made: Mapping[str, str] = json.loads(printed.rpartition("made=")[2])
    return made


@pytest.mark.parametrize("client", CLIENTS)
def test_client_calls_every_method_that_it_has(
    client: str,
    live_stack: LiveStack,
    keys: Mapping[str, str],
    record_property: Callable[..., None],
) -> None:
    environment, script, methods = CLIENTS[client]
    run = run_node_script if script.endswith(".mjs") else run_script

    row = run(environment, FOLDER / script, url=f"{live_stack.url}/v1", **keys)

    record_property(PROPERTY, (client, row))
    assert row == dict.fromkeys(row, "ok")
    assert set(row) == set(methods)


def test_client_of_a_server_without_the_routes_fails(
    live_stack: LiveStack, keys: Mapping[str, str]
) -> None:
    environment, script, _methods = CLIENTS["dify-client (PyPI)"]

    with pytest.raises(AssertionError):
        run_script(environment, FOLDER / script, url=f"{live_stack.url}/v1/gone", **keys)
