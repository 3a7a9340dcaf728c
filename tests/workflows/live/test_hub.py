"""A draft as several tabs hear of it: with Valkey, without it, and across two web processes."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from redis.asyncio import Redis

from accounts.models import Membership
from accounts.tenancy import tenant
from tests.factories.workflows import document, make_workflow
from tests.support.cast import Cast, Person
from tests.support.waiting import LIMIT, until_async
from workflows.execution.events.hub import Feed, Hub, Message
from workflows.live import announce
from workflows.live.draft_feed import DraftFeed, follow
from workflows.live.presence import FRESH_SECONDS
from workflows.live.publish import get_channel
from workflows.live.tabs import QUEUE_SIZE, LiveEvent, Tab, build_card
from workflows.models import Workflow
from workflows.services import publishing
from workflows.services.editor import comments


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def workflow(cast: Cast) -> Workflow:
    return make_workflow(cast.alice, "Live", document("x"))


@pytest.fixture(params=["bus", "alone"])
def url(request: Any, settings: Any, valkey_url: str) -> str | None:
    settings.REDIS_URL = valkey_url if request.param == "bus" else None
    found: str | None = settings.REDIS_URL
    return found


def tab_of(person: Person, workflow: Workflow, client: str = "tab-0001") -> Tab:
    return Tab(
        team_id=workflow.team_id,
        workflow_id=workflow.pk,
        user_id=person.user.pk,
        client=client,
        revision=workflow.revision,
        card=build_card(person.user, client, can_edit=True),
    )


class Listener:
    """Reads a tab's stream in the background."""

    def __init__(self) -> None:
        self.heard: list[LiveEvent] = []
        self._ended = asyncio.Event()

    async def until(self, name: str, fits: Any = lambda data: True) -> Any:
        def find() -> LiveEvent | None:
            fitting = (said for said in self.heard if said.name == name and fits(said.data))
            return next(fitting, None)

        try:
            return await until_async(find)
        except AssertionError:
            raise AssertionError(f"no such {name} among {self.heard}") from None

    async def until_ended(self) -> None:
        await until_async(self._ended.is_set, why="the stream goes on")

    def is_open(self) -> bool:
        return not self._ended.is_set()

    def end(self) -> None:
        self._ended.set()


@asynccontextmanager
async def listening(hub: DraftFeed, tab: Tab) -> AsyncIterator[Listener]:
    listener = Listener()

    async def listen() -> None:
        async for said in follow(hub, tab, idle_seconds=1):
            if said is not None:
                listener.heard.append(said)
        listener.end()

    task = asyncio.create_task(listen())
    try:
        yield listener
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def open_hub(url: str | None) -> AsyncIterator[DraftFeed]:
    hub = Hub(url)
    try:
        yield hub.get_feed(DraftFeed)
    finally:
        await hub.close()


async def settle(hub: DraftFeed, workflow: Workflow, *listeners: Listener) -> None:
    """Poll, and return when the listeners have heard all that their tabs were sent up to then."""
    await hub.poll()
    last = {"mark": uuid4().hex}
    await hub.receive(workflow.pk, {"kind": "comment", "comment": last})
    for listener in listeners:
        await listener.until("comment", lambda data: data == last)


def names_in(data: Any) -> list[str]:
    return sorted(person["name"] for person in data["people"])


async def test_everybody_sees_who_came_and_who_left(
    cast: Cast, workflow: Workflow, url: str | None
):
    async with open_hub(url) as hub, listening(hub, tab_of(cast.alice, workflow)) as alice:
        await alice.until("presence", lambda data: names_in(data) == ["Alice"])
        async with listening(hub, tab_of(cast.vic, workflow, "tab-0002")):
            await alice.until("presence", lambda data: names_in(data) == ["Alice", "Vic"])
        told = [names_in(said.data) for said in alice.heard if said.name == "presence"]
        alice.heard.clear()
        await settle(hub, workflow, alice)
        again = [names_in(said.data) for said in alice.heard if said.name == "presence"]
    assert (told + again)[-1] == ["Alice"]
    assert len(again) <= 1


async def test_two_processes_share_who_is_here(
    cast: Cast, workflow: Workflow, settings: Any, valkey_url: str
):
    settings.REDIS_URL = valkey_url
    async with (
        open_hub(valkey_url) as one,
        open_hub(valkey_url) as two,
        listening(one, tab_of(cast.alice, workflow)) as alice,
    ):
        async with listening(two, tab_of(cast.bob, workflow, "tab-0002")) as bob:
            await alice.until("presence", lambda data: names_in(data) == ["Alice", "Bob"])
            await bob.until("presence", lambda data: names_in(data) == ["Alice", "Bob"])
            key = f"{cast.bob.user.pk}:tab-0002"
            await sync_to_async(announce.announce_card)(
                workflow.pk, key, {"selection": ["start"], "editing": "start"}
            )
            await alice.until(
                "presence",
                lambda data: ["start"] in [person["selection"] for person in data["people"]],
            )
        alice.heard.clear()
        await alice.until("presence", lambda data: names_in(data) == ["Alice"])


async def test_killed_process_leaves_nobody_behind(
    cast: Cast, workflow: Workflow, valkey_url: str, monkeypatch: Any, settings: Any
):
    """Its cards are never dropped; nobody renews them, so they grow stale."""
    settings.REDIS_URL = valkey_url
    clock = StandingClock()
    monkeypatch.setattr("workflows.live.presence.time", clock)
    async with open_hub(valkey_url) as dead, open_hub(valkey_url) as alive:
        ghost = tab_of(cast.bob, workflow, "tab-0002")
        await dead.presence.save(workflow.pk, {ghost.key: ghost.card})
        async with listening(alive, tab_of(cast.alice, workflow)) as alice:
            await alice.until("presence", lambda data: names_in(data) == ["Alice", "Bob"])
            alice.heard.clear()
            clock.now += FRESH_SECONDS
            await alice.until("presence", lambda data: names_in(data) == ["Alice"])


class StandingClock:
    """Stands where the module ``time`` stands. It goes on when the test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        return self.now


async def test_revision_is_told_by_the_bus_with_its_tab(
    cast: Cast, workflow: Workflow, settings: Any, valkey_url: str
):
    settings.REDIS_URL = valkey_url
    async with open_hub(valkey_url) as hub, listening(hub, tab_of(cast.bob, workflow)) as bob:
        await bob.until("presence")
        message = json.dumps({"revision": workflow.revision + 1, "client": "tab-0009"})
        async with Redis.from_url(valkey_url) as redis:
            # Somebody gets it once the subscription stands.
            await until_async(lambda: redis.publish(get_channel(workflow.pk), message))

        said = await bob.until("revision")

    assert said == LiveEvent(
        "revision", {"revision": workflow.revision + 1, "client": "tab-0009"}, workflow.revision + 1
    )


async def test_revision_unheard_is_found_in_the_rows_once(
    cast: Cast, workflow: Workflow, url: str | None
):
    async with open_hub(url) as hub, listening(hub, tab_of(cast.bob, workflow)) as bob:
        await bob.until("presence")

        await sync_to_async(_bump)(workflow)

        said = await bob.until("revision")
        await settle(hub, workflow, bob)
    assert said.data == {"revision": workflow.revision + 1, "client": None}
    assert len([each for each in bob.heard if each.name == "revision"]) == 1


def _bump(workflow: Workflow) -> None:
    with tenant([workflow.team_id]):
        Workflow.objects.unscoped().filter(pk=workflow.pk).update(revision=workflow.revision + 1)


async def test_stream_ends_when_the_person_leaves_the_team(
    cast: Cast, workflow: Workflow, url: str | None
):
    async with (
        open_hub(url) as hub,
        listening(hub, tab_of(cast.bob, workflow)) as bob,
        listening(hub, tab_of(cast.alice, workflow, "tab-0002")) as alice,
    ):
        await bob.until("presence")

        await sync_to_async(_leave)(cast.bob)

        await bob.until_ended()
        assert alice.is_open()
        await alice.until("presence", lambda data: names_in(data) == ["Alice"])


def _leave(person: Person) -> None:
    with tenant([person.team.pk]):
        Membership.objects.unscoped().filter(user=person.user, team=person.team).delete()


async def test_stream_ends_with_the_session(cast: Cast, workflow: Workflow, url: str | None):
    tab = tab_of(cast.bob, workflow)
    tab.session = "no-such-session"
    async with open_hub(url) as hub, listening(hub, tab) as bob:
        await bob.until_ended()


async def test_stream_ends_when_the_workflow_is_archived(
    cast: Cast, workflow: Workflow, url: str | None
):
    from workflows.services.editor import drafts

    async with open_hub(url) as hub, listening(hub, tab_of(cast.bob, workflow)) as bob:
        await bob.until("presence")

        await sync_to_async(_within)(
            cast.alice,
            lambda: drafts.archive(cast.alice.principal, workflow=workflow),
        )

        await bob.until_ended()


def _within(person: Person, act: Any) -> Any:
    with tenant(person.principal.team_ids):
        return act()


async def test_stranger_with_a_seat_is_shown_the_door(
    cast: Cast, workflow: Workflow, url: str | None
):
    """Should a view ever forget to ask: the look asks."""
    async with open_hub(url) as hub, listening(hub, tab_of(cast.carol, workflow)) as carol:
        await carol.until_ended()


async def test_comment_is_told_to_all_tabs(cast: Cast, workflow: Workflow, url: str | None):
    async with open_hub(url) as hub, listening(hub, tab_of(cast.bob, workflow)) as bob:
        await bob.until("presence")
        await hub.poll()

        await sync_to_async(_within)(
            cast.alice,
            lambda: comments.write(
                cast.alice.principal, workflow=workflow, body="Hello @Bob", node="start"
            ),
        )

        await bob.until("comment")


async def test_publishing_is_told_to_all_tabs(
    cast: Cast, workflow: Workflow, settings: Any, valkey_url: str
):
    settings.REDIS_URL = valkey_url
    async with open_hub(valkey_url) as hub, listening(hub, tab_of(cast.bob, workflow)) as bob:
        await bob.until("presence")

        await sync_to_async(_within)(
            cast.alice, lambda: publishing.publish(cast.alice.principal, workflow=workflow)
        )

        await bob.until("published", lambda data: data == {"number": 1})


async def test_cursor_reaches_the_others_and_not_its_own_tab(
    cast: Cast, workflow: Workflow, settings: Any, valkey_url: str
):
    settings.REDIS_URL = valkey_url
    own = tab_of(cast.bob, workflow, "tab-0002")
    async with (
        open_hub(valkey_url) as hub,
        listening(hub, tab_of(cast.alice, workflow)) as alice,
        listening(hub, own) as bob,
    ):
        await bob.until("presence", lambda data: len(data["people"]) == 2)

        async def move() -> bool:
            await sync_to_async(announce.announce_cursor)(
                workflow.pk, own.key, {"client": own.client, "x": 1.0, "y": 2.0}
            )
            return any(said.name == "cursor" for said in alice.heard)

        await until_async(move)  # the first ones are lost before the subscription stands
        said = await alice.until("cursor")
        await settle(hub, workflow, bob)

    assert said.data == {"client": "tab-0002", "x": 1.0, "y": 2.0}
    assert [each.name for each in bob.heard if each.name == "cursor"] == []


async def test_runs_are_told_to_those_they_concern(cast: Cast, workflow: Workflow, url: str | None):
    from workflows.services.runs.runs import start_run

    async with (
        open_hub(url) as hub,
        listening(hub, tab_of(cast.alice, workflow)) as alice,
        listening(hub, tab_of(cast.bob, workflow, "tab-0002")) as bob,
    ):
        await bob.until("presence")

        run = await sync_to_async(_within)(
            cast.bob,
            lambda: start_run(cast.bob.principal, workflow=workflow, inputs={"text": "x"}),
        )

        said = await bob.until("run")
        await settle(hub, workflow, alice)
    assert said.data == {"id": str(run.pk), "status": "queued"}
    assert [each for each in alice.heard if each.name == "run"] == []


async def test_tab_that_reads_too_slowly_is_cut_off(cast: Cast, workflow: Workflow):
    tab = tab_of(cast.bob, workflow)

    for revision in range(2, QUEUE_SIZE + 10):
        tab.put_revision(workflow.revision + revision, None)

    assert tab.cut_off
    heard = [said async for said in follow(Hub(None).get_feed(DraftFeed), tab, idle_seconds=0.1)]
    assert heard == []


class BrokenFeed(Feed[object]):
    """Its polls fail in a way that nobody expects."""

    prefix = "broken"
    poll_seconds_without_bus = 0.01
    temporary_errors = ()

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self.polls = 0
        self.is_polled_again = asyncio.Event()

    async def receive(self, topic: UUID, message: Message) -> None:
        raise RuntimeError

    async def poll(self) -> None:
        self.polls += 1
        if self.polls > 1:
            self.is_polled_again.set()
        raise RuntimeError


async def test_feed_is_polled_again_after_an_unexpected_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hub = Hub(None)
    feed = hub.get_feed(BrokenFeed)

    async with feed.join(uuid4(), object()), asyncio.timeout(LIMIT):
        await feed.is_polled_again.wait()
    await hub.close()

    assert "hub_poll_failed" in {record.message for record in caplog.records}


FAILED = "hub_listening_failed"


async def test_hub_listens_again_after_an_unexpected_error(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("workflows.execution.events.hub.RETRY_AFTER", 0.01)
    hub = Hub(valkey_url)
    feed, topic = hub.get_feed(BrokenFeed), uuid4()

    async with feed.join(topic, object()), Redis.from_url(valkey_url) as redis:

        async def has_failed_twice() -> bool:
            await redis.publish(feed.get_channel(topic), "{}")
            failures = [record for record in caplog.records if record.message == FAILED]
            return len(failures) >= 2

        await until_async(has_failed_twice, why="it listened only once")
        await until_async(lambda: hub.has_bus, why="it doesn't listen any more")
    await hub.close()
