from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import DataError
from django.utils import timezone
from structlog.testing import capture_logs

from accounts.tenancy import tenant
from memory import services
from memory.models import Entry, Namespace, Revision
from memory.providers.postgres import rows
from memory.tasks import BEAT_SCHEDULE, clear_notes, sweep_expired
from memory.upkeep import expiry
from memory.upkeep.expiry import expire_all_teams
from tests.memory.services.conftest import at_door, trail
from tests.support.cast import Cast


pytestmark = pytest.mark.django_db


def test_sweep_puts_away_what_is_over_in_every_team_and_nothing_else(cast: Cast) -> None:
    for person in (cast.alice, cast.carol):
        door = at_door(person)
        services.remember(door, namespace="global:x", key="short", value=1, ttl_seconds=60)
        services.remember(door, namespace="global:x", key="long", value=1, ttl_seconds=6000)
        services.remember(door, namespace="global:x", key="ever", value=1)

    later = timezone.now() + timedelta(seconds=61)
    assert (expire_all_teams(later), expire_all_teams(later)) == (2, 0)

    for team in (cast.team_a, cast.team_b):
        with tenant([team.id]):
            gone = Entry.objects.unscoped().exclude(deleted_at=None).values_list("key", flat=True)
            assert list(gone) == ["short"]
            assert Namespace.objects.unscoped().get().entry_count == 2
            newest = Revision.objects.unscoped().filter(entry__key="short").order_by("-number")[0]
            assert newest.operation == "expire"
        assert trail(team.id)[-1] == ("memory.expired", "global:x", True)


def test_sweep_goes_on_where_it_failed_at_a_namespace_or_a_team(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for person, text in (
        (cast.alice, "global:bad"),
        (cast.alice, "global:x"),
        (cast.carol, "global:x"),
    ):
        services.remember(at_door(person), namespace=text, key="k", value=1, ttl_seconds=60)
    expire = rows.expire

    def failing(namespace: Namespace, now: datetime) -> list[Entry]:
        if namespace.text == "global:bad":
            raise DataError("integer out of range")
        return expire(namespace, now)

    monkeypatch.setattr(rows, "expire", failing)
    later = timezone.now() + timedelta(seconds=61)

    with capture_logs() as logged:
        assert (expire_all_teams(later), expire_all_teams(later)) == (2, 0)
    assert [(one["event"], one["at"]) for one in logged] == [("expiry_failed", "global:bad")] * 2

    sweep_one = expiry.expire_team

    def failing_team(team_id: UUID, now: datetime) -> int:
        if team_id == cast.team_a.pk:
            raise DataError("timestamp too small")
        return sweep_one(team_id, now)

    monkeypatch.setattr(rows, "expire", expire)
    monkeypatch.setattr(expiry, "expire_team", failing_team)
    services.remember(at_door(cast.carol), namespace="global:x", key="k", value=1, ttl_seconds=60)
    assert expire_all_teams(later + timedelta(seconds=61)) == 1


def test_beat_asks_for_the_sweep_by_its_name() -> None:
    assert {row["task"] for row in BEAT_SCHEDULE.values()} >= {sweep_expired.name, clear_notes.name}
    assert (sweep_expired(), clear_notes()) == (0, 0)


def test_beat_has_the_sweep_in_its_timetable() -> None:
    from config.celery import app

    app.finalize()

    assert app.conf.beat_schedule["memory-sweep-expired"] == BEAT_SCHEDULE["memory-sweep-expired"]
