"""Before working memory's day is over: what is kept for good, by rule, by use, by proof, and what goes."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import services
from memory.core.records import MemoryEntry
from memory.models import Entry, Namespace, Revision
from memory.providers.postgres import rows
from memory.services import CallOrigin
from memory.tasks import BEAT_SCHEDULE, SETTLE_EVERY_SECONDS, settle_working
from memory.upkeep.expiry import expire_all_teams
from memory.upkeep.folding import fold_all_teams
from memory.upkeep.promotion import MARGIN, promote_all_teams
from tests.memory.services.conftest import at_door, in_run, trail
from tests.support.cast import Cast, Person


pytestmark = pytest.mark.django_db

HERE = "global:app"
NEARLY = timedelta(hours=23)
OVER = timedelta(hours=25)


def work(person: Person, key: str, value: str, **more: Any) -> MemoryEntry:
    return services.remember(
        at_door(person), namespace=HERE, key=key, value=value, tier="working", **more
    )


def tiers(person: Person) -> dict[str, tuple[str, bool]]:
    """By key the tier, and whether it has an end."""
    with tenant([person.team.pk]):
        rows = Entry.objects.unscoped().filter(deleted_at=None).order_by("key")
        return {row.key: (row.tier, row.expires_at is not None) for row in rows}


def recalled_in(person: Person, run: str, text: str) -> None:
    from dataclasses import replace

    caller = replace(in_run(person, run_id=run), origin=CallOrigin(run, "node", f"{run}:step"))
    assert services.recall(caller, scope="global", query_text=text)


def test_what_is_important_used_or_said_twice_is_kept_and_the_rest_ends(alice: Person) -> None:
    """spec §5: promotion by rule, by use; nothing verified is lost by expiry."""
    work(alice, "rule", "The deadline is on Friday", importance=0.8)
    work(alice, "use", "Bob plays chess every evening")
    work(alice, "once", "Carol drinks coffee at noon")
    work(alice, "proof", "Dora lives in Lyon now")
    again = in_run(alice)
    services.remember(
        again, scope="global", key="x", value="dora lives in lyon now", tier="working"
    )
    work(alice, "passing", "The room was cold today")
    for run in ("r7", "r8"):
        recalled_in(alice, run, "chess")
    recalled_in(alice, "r9", "coffee")

    now = timezone.now()
    assert promote_all_teams(now) == 0  # their day has only begun
    assert fold_all_teams(now + NEARLY) == 1  # what was said twice has a proof
    assert promote_all_teams(now + NEARLY) == 3
    assert promote_all_teams(now + NEARLY) == 0  # twice is once
    expire_all_teams(now + OVER)

    kept = ("long_term", False)
    assert tiers(alice) == {"proof": kept, "rule": kept, "use": kept}


def test_reason_and_trail_say_why_it_was_kept(alice: Person) -> None:
    important = work(alice, "k", "The deadline is on Friday", importance=0.8)

    promote_all_teams(timezone.now() + NEARLY)

    with tenant([alice.team.pk]):
        newest = Revision.objects.unscoped().filter(entry_id=important.id).order_by("-number")[0]
        row = AuditEntry.objects.unscoped().filter(action="memory.promoted").get()
    assert (newest.number, newest.actor, newest.reason) == (2, "promotion", "important")
    assert newest.metadata["review_reason"] == "by_rule"
    assert (row.subject, row.detail["why"], row.actor_kind) == (HERE, ["by_rule"], "system")


def test_every_team_is_asked_and_none_sees_anothers(cast: Cast) -> None:
    for person in (cast.alice, cast.carol):
        work(person, "k", "The deadline is on Friday", importance=0.8)

    assert promote_all_teams(timezone.now() + NEARLY) == 2

    for person in (cast.alice, cast.carol):
        assert tiers(person) == {"k": ("long_term", False)}
        assert trail(person.team.pk)[-1] == ("memory.promoted", HERE, True)


def test_team_where_it_fails_keeps_no_other_from_it(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for person in (cast.alice, cast.carol):
        work(person, "k", "The deadline is on Friday", importance=0.8)
    write = rows.write

    def failing(namespace: Namespace, *more: Any) -> Any:
        if namespace.team_id == cast.team_a.pk:
            raise DataError("integer out of range")
        return write(namespace, *more)

    monkeypatch.setattr(rows, "write", failing)

    assert promote_all_teams(timezone.now() + NEARLY) == 1
    assert tiers(cast.carol) == {"k": ("long_term", False)}
    assert tiers(cast.alice) == {"k": ("working", True)}


def test_what_is_over_already_is_not_brought_back(alice: Person) -> None:
    work(alice, "k", "The deadline is on Friday", importance=0.8, ttl_seconds=60)

    assert promote_all_teams(timezone.now() + timedelta(seconds=61)) == 0


def test_rejected_entry_is_never_kept_for_good(alice: Person) -> None:
    held = services.remember(
        at_door(alice), namespace=HERE, key="k", value="The deadline is on Friday",
        tier="quarantine", importance=0.9,
    )  # fmt: skip
    services.move(at_door(alice), move="reject", entry_ids=[held.id])

    assert promote_all_teams(timezone.now() + NEARLY) == 0
    assert tiers(alice) == {"k": ("quarantine", False)}


def test_beat_asks_often_enough_that_nothing_slips_through() -> None:
    row = BEAT_SCHEDULE["memory-settle-working"]

    assert (row["task"], row["schedule"]) == (settle_working.name, SETTLE_EVERY_SECONDS)
    assert MARGIN.total_seconds() > 4 * SETTLE_EVERY_SECONDS
    assert settle_working() == 0
