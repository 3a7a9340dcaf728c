"""Programs in the middle of their conversations change to a new key: no turn is refused, and no conversation is lost."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx2

from tests.clients.mcp.documents import DIARY
from tests.clients.mcp.team import make_connection
from tests.support.stack import LiveStack


CONVERSATIONS = 6
TURNS = 8

_ROTATE = """
import datetime as dt
from accounts.models import ApiKey
from accounts.principals import load_user_principal
from accounts.services import rotate_key
from accounts import tokens
from accounts.tenancy import lookup, tenant

digest = tokens.hash_secret("key", SECRET)
with lookup(digest):
    key = ApiKey.objects.unscoped().select_related("created_by").get(secret_hash=digest)
principal = load_user_principal(key.created_by)
print("new=" + rotate_key(principal, key_id=key.pk, overlap=dt.timedelta(minutes=5))[1])
"""


@dataclass
class Program:
    """Talks in several conversations at once, with whichever key it has at the moment."""

    url: str
    workflow: str
    key: str
    used: set[str] = field(default_factory=set)
    has_changed: threading.Event = field(default_factory=threading.Event)
    half_done: threading.Barrier = field(
        default_factory=lambda: threading.Barrier(CONVERSATIONS + 1)
    )

    def talk(self, number: int) -> tuple[str, list[int]]:
        """Return the conversation and the status of each turn."""
        conversation, statuses = "", []
        for turn in range(TURNS):
            if turn == TURNS // 2:
                self.half_done.wait(120)
            if turn == TURNS - 2:
                assert self.has_changed.wait(120)
            key = self.key
            self.used.add(key)
            response = httpx2.post(
                f"{self.url}/api/v1/workflows/{self.workflow}/runs",
                headers={"Authorization": f"Bearer {key}"},
                json={
                    "query": f"Turn {turn} of {number}",
                    "user": f"person-{number}",
                    "response_mode": "blocking",
                    **({"conversation_id": conversation} if conversation else {}),
                },
                timeout=120,
                trust_env=False,
            )
            statuses.append(response.status_code)
            conversation = response.json()["conversation_id"]
        return conversation, statuses


def test_no_conversation_is_lost_when_keys_change_under_load(live_stack: LiveStack) -> None:
    connection = make_connection(live_stack, Diary=DIARY)
    headers = {"Authorization": f"Bearer {connection.key}"}
    listed = httpx2.get(f"{live_stack.url}/api/v1/workflows", headers=headers, trust_env=False)
    body = listed.json()
    rows = body if isinstance(body, list) else body["items"]
    program = Program(live_stack.url, rows[0]["id"], connection.key)

    with ThreadPoolExecutor(CONVERSATIONS) as threads:
        talks = [threads.submit(program.talk, number) for number in range(CONVERSATIONS)]
        program.half_done.wait(120)
        # Meanwhile the second half goes on with the old key, until the new one is there.
        printed = live_stack.manage(
            "shell", "--no-imports", "-c", f"SECRET = {json.dumps(connection.key)}\n{_ROTATE}"
        )
        program.key = printed.rpartition("new=")[2].strip()
        program.has_changed.set()
        results = [talk.result(300) for talk in talks]

    assert [statuses for _conversation, statuses in results] == [[200] * TURNS] * CONVERSATIONS
    turns = live_stack.sql(
        "select c.key, c.dialogue_count, count(m.id) from workflows_conversation c"
        " join workflows_message m on m.conversation_id = c.id where c.key = any (%s)"
        " group by c.key, c.dialogue_count",
        ([conversation for conversation, _statuses in results],),
    )
    assert sorted(turns) == sorted((key, TURNS, TURNS) for key, _statuses in results)
    assert len(program.used) == 2
