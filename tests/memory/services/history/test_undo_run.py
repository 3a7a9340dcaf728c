"""Everything a run wrote is undone as one, wherever it wrote it, and nothing of what others did since."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.audit import verify
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, AlreadyExists, InvalidInput
from memory.core.records import StoreParams
from memory.models import Namespace
from memory.services import CallOrigin, MemoryCaller
from memory.services.gateway.gateway import open_namespace
from memory.services.gateway.namespace_access import Batch
from memory.services.history.undo_run import RunUndoResult
from memory.upkeep.promotion import promote_all_teams
from tests.factories.workflows import make_run, make_workflow
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

SHARED = "global:app"


def running(person: Person, run: str = "r1") -> MemoryCaller:
    return replace(in_run(person, run_id=run), origin=CallOrigin(run, "node"))


def say(caller: MemoryCaller, scope: str, key: str, value: str, **more: Any) -> Any:
    return services.remember(caller, scope=scope, key=key, value=value, **more)


def known(person: Person) -> dict[str, Any]:
    own = f"user:{person.user.pk}"
    return {
        f"{name}/{one.key}": one.value
        for name, text in (("own", own), ("all", SHARED))
        for one in services.recall(at_door(person), namespace=text)
    }


def test_all_of_it_is_as_it_was_before_in_every_namespace_and_back_again_as_one(
    alice: Person,
) -> None:
    before, run = running(alice, "r0"), running(alice)
    say(before, "user", "name", "Alice")
    say(before, "user", "city", "Lisbon")
    say(before, "global", "opens", "at nine")
    say(run, "user", "name", "Alicia")
    say(run, "user", "name", "Ali")
    say(run, "user", "pet", "Miso")
    services.forget(run, scope="user", key="city")
    say(run, "global", "opens", "at ten")
    after = {"own/name": "Ali", "own/pet": "Miso", "all/opens": "at ten"}
    assert known(alice) == after

    tried = services.undo_run(at_door(alice), run_id="r1", dry_run=True)
    assert (tried, known(alice)) == (RunUndoResult(4, 0), after)
    done = services.undo_run(at_door(alice), run_id="r1", reason="it was drunk")

    assert (done.count, done.skipped) == (4, 0)
    assert known(alice) == {"own/name": "Alice", "own/city": "Lisbon", "all/opens": "at nine"}
    assert [action for action, _, _ in trail(alice.team.pk)].count("memory.undone") == 2
    assert services.undo_run(at_door(alice), run_id="r1").count == 0

    assert done.change_id
    undone = services.undo(at_door(alice), change_id=done.change_id)
    assert (undone.count, known(alice)) == (4, after)
    with pytest.raises(AlreadyExists):
        services.undo(at_door(alice), change_id=done.change_id)
    with tenant([alice.team.pk]):
        assert verify(alice.team.pk).intact
        counts = Namespace.objects.unscoped().order_by("text").values_list("text", "entry_count")
        assert dict(counts) == {SHARED: 1, f"user:{alice.user.pk}": 2}


def test_what_somebody_changed_since_is_left_to_them(alice: Person) -> None:
    run = running(alice)
    for key in "abcd":
        say(run, "user", key, "said by the run")
    say(running(alice, "r2"), "user", "a", "said by another")
    entry = next(one for one in services.recall(run, scope="user") if one.key == "b")
    services.edit(at_door(alice), entry_id=entry.id, if_revision=1, value="mended by hand")
    services.forget(at_door(alice), namespace=f"user:{alice.user.pk}", key="c")

    done = services.undo_run(at_door(alice), run_id="r1")

    assert (done.count, done.skipped) == (1, 2)
    assert known(alice) == {"own/a": "said by another", "own/b": "mended by hand"}


def test_only_what_the_run_did_last_is_undone_where_others_wrote_between(alice: Person) -> None:
    run = running(alice)
    say(run, "user", "k", "first by the run")
    say(running(alice, "r2"), "user", "k", "then by another")
    say(run, "user", "k", "again by the run")

    services.undo_run(at_door(alice), run_id="r1")

    assert known(alice) == {"own/k": "then by another"}


def test_memory_that_was_kept_for_good_since_is_undone_all_the_same(alice: Person) -> None:
    say(running(alice), "user", "k", "Alice likes tea", tier="working", importance=0.9)
    assert promote_all_teams(timezone.now() + timedelta(hours=20)) == 1

    assert services.undo_run(at_door(alice), run_id="r1").count == 1
    assert known(alice) == {}


def test_key_that_was_given_to_something_else_since_stays_with_it(alice: Person) -> None:
    say(running(alice, "r0"), "user", "k", "old")
    services.forget(running(alice), scope="user", key="k")
    say(running(alice, "r2"), "user", "k", "new")

    done = services.undo_run(at_door(alice), run_id="r1")

    assert (done.count, done.skipped, known(alice)) == (0, 1, {"own/k": "new"})


def test_what_was_learnt_from_the_run_goes_with_it(alice: Person) -> None:
    """Curation writes in the run's name."""
    own = f"user:{alice.user.pk}"
    learning = replace(running(alice), origin=CallOrigin("r1"))
    with open_namespace(learning, "write", "memory.curated", namespace=own) as access:
        Batch(access, "curation").store.store(StoreParams(own, "learning:1", value="Tea helps"))

    assert services.undo_run(at_door(alice), run_id="r1").count == 1
    assert known(alice) == {}


def test_others_undo_only_what_they_may_change(cast: Cast) -> None:
    run = running(cast.alice)
    say(run, "user", "k", "private")
    say(run, "global", "k", "shared")

    by = {
        name: services.undo_run(at_door(getattr(cast, name)), run_id="r1", dry_run=True).count
        for name in ("alice", "bob", "vic", "carol")
    }
    done = services.undo_run(at_door(cast.bob), run_id="r1")

    assert by == {"alice": 2, "bob": 1, "vic": 0, "carol": 0}
    assert (done.count, known(cast.alice)) == (1, {"own/k": "private"})


def test_run_that_has_no_name_is_refused(alice: Person) -> None:
    """What people do by hand is of no run, and isn't one."""
    services.remember(at_door(alice), namespace=SHARED, key="k", value="by hand")

    with pytest.raises(InvalidInput):
        services.undo_run(at_door(alice), run_id="")
    assert known(alice) == {"all/k": "by hand"}


def test_undone_over_the_api(alice: Person, api_key: Any) -> None:
    run_id = str(UUID(int=7))
    say(running(alice, run_id), "global", "k", "said by the run")
    path = f"/api/v1/memory/runs/{run_id}/undo"

    def ask(client: Any, **body: Any) -> Any:
        return client.post(path, body, content_type="application/json")

    tried, done = (ask(alice.client, dry_run=dry).json() for dry in (True, False))

    assert tried == {"count": 1, "left": 0, "change": None}
    assert (done["count"], bool(done["change"]), known(alice)) == (1, True, {})
    reader = api_key(alice, scopes={"memory:read"})
    assert ask(reader).json() == {"count": 0, "left": 0, "change": None}


def test_run_that_nobody_knows_is_not_found_over_the_api(cast: Cast, api_key: Any) -> None:
    private = str(UUID(int=8))
    say(running(cast.alice, private), "user", "k", "private")
    run = make_run(cast.alice, make_workflow(cast.alice))

    def ask(client: Any, run_id: object) -> int:
        path = f"/api/v1/memory/runs/{run_id}/undo"
        return client.post(path, {}, content_type="application/json").status_code

    assert [ask(cast.alice.client, each) for each in (UUID(int=9), private, run.pk)] == [
        404,
        200,
        200,
    ]
    assert [ask(cast.bob.client, each) for each in (UUID(int=9), private, run.pk)] == [404] * 3
    assert ask(cast.carol.client, private) == 404


def test_who_may_only_write_undoes_what_was_changed_and_leaves_what_is_new(cast: Cast) -> None:
    own, bob = f"user:{cast.alice.user.pk}", at_door(cast.bob)
    say(running(cast.alice, "r0"), "user", "city", "Lisbon")
    say(running(cast.alice), "user", "city", "Porto")
    say(running(cast.alice), "user", "pet", "Miso")
    services.share(at_door(cast.alice), namespace=own, verb="write", recipient=cast.bob.user)

    tried = services.undo_run(bob, run_id="r1", dry_run=True)
    done = services.undo_run(bob, run_id="r1")

    assert (tried, (done.count, done.skipped)) == (RunUndoResult(1, 1), (1, 1))
    assert known(cast.alice) == {"own/city": "Lisbon", "own/pet": "Miso"}


def test_who_may_only_write_takes_nothing_back_that_would_be_forgotten(cast: Cast) -> None:
    own, mine = f"user:{cast.alice.user.pk}", at_door(cast.alice)
    say(running(cast.alice, "r0"), "user", "city", "Lisbon")
    services.forget(running(cast.alice), scope="user", key="city")
    change_id = services.undo_run(mine, run_id="r1").change_id
    assert change_id
    services.share(mine, namespace=own, verb="write", recipient=cast.bob.user)

    with pytest.raises(AccessDenied, match="not forget"):
        services.undo(at_door(cast.bob), change_id=change_id)
    assert known(cast.alice) == {"own/city": "Lisbon"}

    services.share(mine, namespace=own, verb="forget", recipient=cast.bob.user)
    assert services.undo(at_door(cast.bob), change_id=change_id).count == 1
    assert known(cast.alice) == {}
