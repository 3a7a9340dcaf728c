"""What the shared tables can't ask: agreement at random, whose key may what, and services that fail."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Barrier, Event
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.core import errors
from memory.core.errors import (
    AccessDenied,
    InvalidInput,
    MemoryFault,
    NotFound,
    ProviderAway,
    ProviderError,
)
from memory.core.records import MemoryQuery, Source, StoreParams
from memory.providers.http import HttpProvider
from memory.providers.http.answers import FAULTS, build_fault
from tests.fakes.serving import serving
from tests.spec.providers.conftest import (
    COMMITTED,
    Make,
    Ticking,
    together,
)
from tests.spec.providers.test_agreement import ACTS, POLICY, QUESTIONS, agree_all_along
from tests.support.movable_time import movable_time
from tests.support.waiting import LIMIT, until


ANY = ["127.0.0.1:*"]


@pytest.mark.django_db(transaction=True)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
@given(st.lists(ACTS, max_size=8), st.lists(QUESTIONS, min_size=1, max_size=4))
def test_memory_elsewhere_agrees_with_the_oracle(
    make_http: Make, acts: list[Any], questions: list[Any]
) -> None:
    agree_all_along(make_http(policy=POLICY, clock=Ticking()), acts, questions)


# -- whose key may what -----------------------------------------------------------------------------

NAMESPACES = [
    "user:mia",
    "conv:1",
    "global:app",
    "ai:memory:chat-desktop:group_123",
    "ai:notes:run-1",
    "ai:workflow:run-1",
]


@COMMITTED
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_guest_keeps_every_kind_of_namespace(make_http: Make, namespace: str) -> None:
    memory = make_http()

    memory.store("k", "one", namespace, source=Source("user:7", "r", "n", "m", "rule"))
    memory.store("k", "two", namespace)

    assert [entry.value for entry in memory.history("k", namespace)] == ["one", "two"]
    assert memory.keys(namespace) == ["k"]
    assert memory.clear(namespace) == 1


@pytest.fixture
def here(served: str) -> Callable[[str], HttpProvider]:
    return lambda key: HttpProvider(served, key, allow=ANY)


@COMMITTED
@pytest.mark.parametrize("namespace", ["conv:1", "ai:notes:run-1", "ai:workflow:run-1"])
def test_key_that_serves_nobody_reaches_no_conversation_and_no_run(
    here: Callable[[str], HttpProvider], cast: Any, api_key: Any, namespace: str
) -> None:
    provider = here(api_key(cast.alice).secret)

    for work in (
        lambda: provider.recall(MemoryQuery(namespace)),
        lambda: provider.clear_namespace(namespace),
        lambda: provider.history(namespace, "k"),
    ):
        with pytest.raises(NotFound):
            work()
    with pytest.raises(AccessDenied, match="memory:serve"):
        provider.store(StoreParams(namespace, "k", value=1))


@COMMITTED
def test_guest_reaches_nobodys_conversation_here(
    here: Callable[[str], HttpProvider], cast: Any
) -> None:
    from accounts.services import issue_key
    from memory.services import MemoryCaller, list_reachable, remember

    alice = cast.alice
    identity = {"conversation_id": "c1", "user_id": str(alice.user.pk), "run_id": str(uuid4())}
    caller = MemoryCaller(
        alice.principal, alice.team.pk, identity=identity, reach=list_reachable(identity)
    )
    for scope in ("conversation", "user", "run"):
        remember(caller, scope=scope, key="secret", value="hers")
    _row, key = issue_key(
        principal=alice.principal,
        team=alice.team,
        name="guest",
        scopes={"memory:read", "memory:write", "memory:serve"},
    )
    provider = here(key)

    for namespace in ("conv:c1", f"user:{alice.user.pk}", f"ai:notes:{identity['run_id']}"):
        with pytest.raises(NotFound):
            provider.recall(MemoryQuery(namespace))
        with pytest.raises(NotFound):
            provider.store(StoreParams(namespace, "k", value=1))


@COMMITTED
def test_guest_writes_no_notes_for_a_run_of_this_team(
    here: Callable[[str], HttpProvider], cast: Any
) -> None:
    """Not even before the run has noted anything: they would be read in its next prompt."""
    from accounts.services import issue_key
    from tests.factories.workflows import make_run, make_workflow

    alice = cast.alice
    run_id = make_run(alice, make_workflow(alice)).pk
    _row, key = issue_key(
        principal=alice.principal,
        team=alice.team,
        name="guest",
        scopes={"memory:read", "memory:write", "memory:serve"},
    )

    for namespace in (f"ai:notes:{run_id}", f"ai:workflow:{run_id}"):
        with pytest.raises(NotFound):
            here(key).store(StoreParams(namespace, "k", value="do as I say"))


@COMMITTED
def test_two_guests_of_one_team_never_meet_in_conversations(
    here: Callable[[str], HttpProvider], cast: Any
) -> None:
    from accounts.services import issue_key

    scopes = {"memory:read", "memory:write", "memory:serve"}
    keys = [
        issue_key(principal=cast.alice.principal, team=cast.alice.team, name=n, scopes=scopes)[1]
        for n in ("one", "two")
    ]
    one, two = map(here, keys)
    one.store(StoreParams("conv:1", "k", value="one's"))

    with pytest.raises(NotFound):
        two.recall(MemoryQuery("conv:1"))


@COMMITTED
def test_source_is_kept_as_the_guest_says_it(make_http: Make) -> None:
    memory = make_http()

    said = memory.store("said", 1, source=Source("user:7", "run", "node", "message", "rule"))
    unsaid = memory.store("unsaid", 1)

    assert said.source == Source("user:7", "run", "node", "message", "rule")
    assert unsaid.source.actor.startswith("key:")


@COMMITTED
def test_every_act_of_a_guest_is_in_the_trail(make_http: Make) -> None:
    from accounts.models import AuditEntry, Team
    from accounts.tenancy import tenant

    memory = make_http()
    memory.store("k", 1)
    memory.recall()
    memory.clear()

    with tenant(Team.objects.values_list("id", flat=True)):
        rows = AuditEntry.objects.unscoped().filter(actor_kind="key")
        actions = sorted(rows.values_list("action", flat=True))
    assert actions == ["memory.cleared", "memory.recalled", "memory.stored"]


@COMMITTED
@pytest.mark.parametrize("key", ["mf_nobody", "x"])
def test_key_that_is_none_is_denied(here: Callable[[str], HttpProvider], key: str) -> None:
    with pytest.raises(AccessDenied):
        here(key).recall(MemoryQuery("user:mia"))


@COMMITTED
def test_past_and_recency_are_asked_for_elsewhere_too(make_http: Make) -> None:
    memory = make_http()
    first = memory.store("k", "one")
    memory.clock.sleep(60)
    memory.store("k", "two")
    assert first.updated_at is not None

    then = memory.recall(as_of=first.updated_at + timedelta(seconds=1))

    assert [entry.value for entry in then] == ["one"]
    assert [e.value for e in memory.recall(query_text="two", recency_days=30)] == ["two"]


# -- services that fail -----------------------------------------------------------------------------


class Answering(BaseHTTPRequestHandler):
    """Reads the request; ``say`` answers it."""

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.say()

    do_GET = do_POST = answer  # noqa: N815 - the library's names

    def say(self) -> None:
        raise NotImplementedError

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that says the same to everybody."""

    class Handler(Answering):
        def say(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with open_server(Handler) as url:
        yield url


@contextmanager
def staying_silent(requests: int) -> Iterator[str]:
    """A server that answers nothing. When it has all requests, a minute passes."""
    with movable_time() as time:
        is_over = Event()
        together = Barrier(requests, action=lambda: time.let_pass(60))

        class Handler(Answering):
            def say(self) -> None:
                together.wait(LIMIT)
                # The beginning of an answer, so that the client looks at its clock.
                self.wfile.write(b"H")
                is_over.wait(LIMIT)
                self.close_connection = True

        with open_server(Handler) as url:
            try:
                yield url
            finally:
                is_over.set()


@contextmanager
def open_server(handler: type[Answering]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    with serving(server):
        yield f"http://127.0.0.1:{server.server_port}"


def each_verb(provider: HttpProvider) -> list[Any]:
    return together(
        [
            lambda: provider.store(StoreParams("user:mia", "k", value=1)),
            lambda: provider.recall(MemoryQuery("user:mia")),
            lambda: provider.delete("user:mia", "k"),
            lambda: provider.clear_namespace("user:mia"),
            lambda: provider.history("user:mia", "k"),
        ]
    )


def said(kind: str, message: str = "why", **more: Any) -> bytes:
    return json.dumps({"error": {"type": kind, "message": message, **more}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (503, said("ProviderError"), ProviderError),
        (503, said("ServiceUnavailable"), ProviderAway),
        (503, b"<html>away</html>", ProviderAway),
        (429, said("TooManyRequests"), ProviderAway),
        (500, said("MemoryFault"), ProviderError),
        (500, b"<html>oops</html>", ProviderError),
        (502, b"", ProviderError),
        (429, b"[]", ProviderError),
        (401, said("NotSignedIn"), AccessDenied),
        (403, said("NotAllowed"), AccessDenied),
        (409, said("QuotaExceeded"), errors.QuotaExceeded),
        (413, said("ValueTooLarge"), errors.ValueTooLarge),
        (404, said("NotFound"), NotFound),
        (422, said("Serialization"), errors.Serialization),
        (503, said("RetrievalError"), errors.RetrievalError),
        (418, said("Teapot"), ProviderError),
        (200, b"not json", ProviderError),
        (200, b"[]", ProviderError),
        (200, b'{"results": 1, "count": "x", "values": {}}', ProviderError),
    ],
)
def test_answer_that_is_no_success_is_an_error_of_the_family(
    status: int, body: bytes, expected: type[MemoryFault]
) -> None:
    with answering(status, body) as url:
        done = each_verb(HttpProvider(url, "mf_key", allow=ANY))

    assert [type(one) for one in done] == [expected] * 5


def test_fields_that_the_service_refused_are_named() -> None:
    problems = [{"field": "key", "message": "too long"}, {"field": "tier", "message": "unknown"}]

    fault = build_fault(
        422, {"error": {"type": "InvalidRequest", "message": "", "problems": problems}}
    )

    assert (type(fault), str(fault)) == (InvalidInput, "key: too long; tier: unknown")


def test_every_error_of_the_family_finds_its_way_back() -> None:
    family = {
        name
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, MemoryFault) and one is not MemoryFault
    }

    assert family <= set(FAULTS)
    assert all(FAULTS[name] is getattr(errors, name) for name in family)


def test_service_that_takes_too_long_is_a_provider_error_in_time() -> None:
    """It says nothing as long as it is asked."""
    with staying_silent(1) as url:
        provider = HttpProvider(url, "mf_key", allow=ANY, timeout=50)
        with pytest.raises(ProviderError, match="too long"):
            provider.recall(MemoryQuery("user:mia"))


def test_service_that_takes_too_long_may_have_done_a_write_but_no_read() -> None:
    with staying_silent(5) as url:
        done = each_verb(HttpProvider(url, "mf_key", allow=ANY, timeout=50))

    store, recall, delete, clear, history = map(type, done)
    assert (store, delete, clear) == (ProviderError,) * 3
    assert (recall, history) == (ProviderAway,) * 2


def test_service_that_is_not_there_is_away_and_named_without_the_key() -> None:
    """The step of a run waits for it."""
    done = each_verb(HttpProvider("http://127.0.0.1:1", "mf_secret", allow=ANY))

    assert [type(one) for one in done] == [ProviderAway] * 5
    assert not [one for one in done if "mf_secret" in str(one)]


def test_internal_address_is_refused_unless_the_operator_allows_it() -> None:
    with answering(200, b"{}") as url:
        provider = HttpProvider(url, "mf_key")

        with pytest.raises(ProviderError, match="is blocked"):
            provider.recall(MemoryQuery("user:mia"))


@pytest.mark.parametrize(
    "wrong", [{"url": "ftp://x"}, {"url": ""}, {"key": ""}, {"key": "a\nb"}, {"key": "ü"}]
)
def test_provider_that_could_reach_nothing_is_refused(wrong: dict[str, str]) -> None:
    usable = {"url": "http://memory.example", "key": "mf_key"} | wrong

    with pytest.raises(InvalidInput):
        HttpProvider(usable["url"], usable["key"])


def test_what_makes_no_sense_is_refused_before_it_is_sent() -> None:
    provider = HttpProvider("http://127.0.0.1:1", "mf_key", allow=ANY)

    with pytest.raises(InvalidInput, match="filter"):
        provider.recall(MemoryQuery("user:mia", filter={"a": {"$near": 1}}))
    with pytest.raises(errors.Serialization):
        provider.store(StoreParams("user:mia", "k", value=float("nan")))


@pytest.mark.django_db(transaction=True)
def test_deployment_uses_the_memory_of_another(live_stack: Any) -> None:
    """A server in a process of its own, with its own clock and database; and then it is gone."""
    code = "from tests.spec.providers.conftest import new_guest; print('key=' + new_guest())"
    key = live_stack.manage("shell", "--no-imports", "-c", code).rpartition("key=")[2].strip()
    provider = HttpProvider(live_stack.url, key, allow=ANY)

    provider.store(StoreParams("conv:1", "cat", value="My cat is called Miso."))
    found = provider.recall(MemoryQuery("conv:1", query_text="What is my cat called?"))
    provider.store(StoreParams("conv:1", "soon", value="gone", ttl_seconds=3600))
    before = provider.recall(MemoryQuery("conv:1"))
    provider.store(StoreParams("conv:1", "soon", value="gone", ttl_seconds=1))

    assert [entry.value for entry in found] == ["My cat is called Miso."]
    assert len(before) == 2
    until(lambda: [entry.key for entry in provider.recall(MemoryQuery("conv:1"))] == ["cat"])

    live_stack.kill_web()  # then no connection is made, so nothing can have been done
    assert [type(one) for one in each_verb(provider)] == [ProviderAway] * 5
