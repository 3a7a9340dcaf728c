"""A team on the real stack with two published workflows and a key: what an MCP client connects to."""

import json
from dataclasses import dataclass
from typing import Any

from tests.support.stack import LiveStack


_CODE = """
import json
from accounts.models import User
from accounts.principals import load_user_principal
from accounts.roles import SCOPES
from accounts.services import create_team, issue_key
from accounts.tenancy import tenant
from config.ids import uuid7
from tests.factories.workflows import make_version, make_workflow
from types import SimpleNamespace

owner = User.objects.create_user(f"{uuid7().hex}@example.org", name="Pia")
team = create_team(owner=owner, name=f"MCP {uuid7().hex}")
person = SimpleNamespace(user=owner, team=team, principal=load_user_principal(owner))
documents = json.loads(DOCUMENTS)
with tenant([team.pk]):
    for name, document in documents.items():
        make_version(person, make_workflow(person, name, document))
keys = [
    issue_key(principal=person.principal, team=team, name=name, scopes=set(SCOPES))[1]
    for name in ("first", "second")
]
print("made=" + json.dumps(keys))
"""


@dataclass(frozen=True, slots=True)
class Connection:
    """The address of the server, and two keys of different programs."""

    url: str
    key: str
    other_key: str


def make_connection(stack: LiveStack, **documents: Any) -> Connection:
    """Create a team with these published workflows by name."""
    code = f"DOCUMENTS = {json.dumps(json.dumps(documents))}\n{_CODE}"
    printed = stack.manage("shell", "--no-imports", "-c", code)
    key, other_key = json.loads(printed.rpartition("made=")[2])
    return Connection(f"{stack.url}/mcp/", key, other_key)
