"""Limits of the team's memory: seen by all, changed by admins, told in the trail, and in force at once."""

import pytest

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from memory import services
from memory.core.errors import AccessDenied, QuotaExceeded
from memory.services.access.quotas import (
    Limits,
    change_limits,
    get_limits,
    list_applications,
    measure_usage,
)
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


def page(person: Person) -> str:
    answer = person.client.get("/memory/policy/")
    assert answer.status_code == 200
    return markup_of(answer)


def test_limit_set_on_the_page_holds_for_the_next_write_and_is_in_the_trail(cast: Cast) -> None:
    services.remember(at_door(cast.bob), namespace="global:app", key="a", value=1)

    answer = cast.ada.client.post(
        "/memory/policy/", {"max_entries": "1", "allowed_prefixes": "global:\nuser:"}
    )

    assert answer.status_code == 302
    with pytest.raises(QuotaExceeded):
        services.remember(at_door(cast.bob), namespace="global:app", key="b", value=1)
    with pytest.raises(AccessDenied):
        services.remember(in_run(cast.bob, conversation_id="c"), scope="conversation", key="b", value=1)  # fmt: skip
    assert get_limits(at_door(cast.vic)) == Limits(
        ("global:", "user:"), 1, subjects_write_global=False
    )
    with tenant([cast.team_a.pk]):
        row = AuditEntry.objects.unscoped().get(action="memory.policy_changed")
    assert (row.detail["before"]["max_entries"], row.detail["after"]["max_entries"]) == (None, 1)
    assert row.actor == f"user:{cast.ada.user.pk}"
    shown = page(cast.vic)
    assert ("global: user:" in shown, 'name="max_entries"' in shown) == (True, False)


def test_meters_count_the_whole_team_and_name_only_what_one_may_see(cast: Cast) -> None:
    services.remember(in_run(cast.bob), scope="user", key="a", value="x" * 500)
    services.remember(at_door(cast.bob), namespace="global:app", key="a", value=1)
    change_limits(at_door(cast.ada), Limits(max_entries=4, max_namespaces=2))

    full = measure_usage(at_door(cast.ada), get_limits(at_door(cast.ada)))

    assert (full.namespaces.percent, full.largest_entries.percent, full.entries) == (100, 25, 2)
    assert full.bytes > 500
    assert [row.text for row in full.fullest] == ["global:app"]
    assert "2 / 2" in page(cast.ada)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"max_entries": "-1"}, "Max entries per namespace: must be a whole"),
        ({"max_value_bytes": "many"}, "Max bytes per value: must be a whole"),
        ({"max_namespaces": "99999999999"}, "Max namespaces: must be a whole"),
        (
            {"allowed_prefixes": "elsewhere:"},
            "Allowed prefixes: no namespace starts with elsewhere:",
        ),
    ],
)
def test_nonsense_is_named_and_changes_nothing(
    cast: Cast, typed: dict[str, str], says: str
) -> None:
    answer = cast.ada.client.post("/memory/policy/", typed)

    assert (answer.status_code, says in markup_of(answer)) == (422, True)
    assert next(iter(typed.values())) in markup_of(answer)
    assert get_limits(at_door(cast.ada)) == Limits()


@pytest.mark.parametrize("ticked", [True, False])
def test_refused_form_keeps_the_box_as_it_was_set(cast: Cast, ticked: bool) -> None:
    change_limits(at_door(cast.ada), Limits(subjects_write_global=not ticked))
    box = {"subjects_write_global": "on"} if ticked else {}

    refused = cast.ada.client.post("/memory/policy/", {"max_entries": "-1", **box})

    assert ('name="subjects_write_global" checked' in markup_of(refused)) is ticked


def test_same_over_the_api(cast: Cast) -> None:
    client = cast.ada.client
    wanted = {"max_entries": 7, "allowed_prefixes": ["user:"], "subjects_write_global": True}

    changed = client.put("/api/v1/memory/policy", wanted, "application/json").json()

    assert changed == cast.vic.client.get("/api/v1/memory/policy").json()
    assert (changed["own"]["max_entries"], changed["own"]["max_value_bytes"]) == (7, None)
    assert changed["in_force"]["max_value_bytes"] == 256 * 1024
    for wrong in ({"max_entries": -1}, {"allowed_prefixes": ["x:"]}, {"team": "x"}):
        assert client.put("/api/v1/memory/policy", wrong, "application/json").status_code == 422
    refused = cast.bob.client.put("/api/v1/memory/policy", wanted, "application/json")
    assert refused.status_code == 403


def test_application_narrows_the_team_and_follows_it_again(cast: Cast) -> None:
    services.remember(at_door(cast.bob), namespace="global:app", key="a", value=1)
    services.remember(at_door(cast.bob), namespace="global:other", key="a", value=1)
    change_limits(at_door(cast.ada), Limits(max_entries=5, subjects_write_global=True))
    address = "/memory/policy/?app=app"
    untouched = markup_of(cast.ada.client.get(address))
    assert 'placeholder="5"' in untouched
    assert 'name="subjects_write_global" checked' in untouched
    assert 'name="max_namespaces"' not in untouched

    saved = cast.ada.client.post(address, {"max_entries": "1"})

    assert saved["Location"] == address
    with pytest.raises(QuotaExceeded):
        services.remember(at_door(cast.bob), namespace="global:app", key="b", value=1)
    services.remember(at_door(cast.bob), namespace="global:other", key="b", value=1)
    assert get_limits(at_door(cast.vic), app_id="app") == Limits(
        max_entries=1, subjects_write_global=False
    )
    assert [(one.app_id, bool(one.limits)) for one in list_applications(at_door(cast.vic))] == [
        ("app", True),
        ("other", False),
    ]
    assert "custom" in page(cast.vic)
    cast.ada.client.post(address, {"follow": "1"})
    services.remember(at_door(cast.bob), namespace="global:app", key="b", value=1)
    assert "custom" not in page(cast.vic)
    with tenant([cast.team_a.pk]):
        rows = AuditEntry.objects.unscoped().filter(action="memory.policy_changed")
        subjects = [row.subject for row in rows.order_by("seq")]
    assert subjects == [f"team:{cast.team_a.pk}", "global:app", "global:app"]


@pytest.mark.parametrize("app", ["x" * 81, " ", ":" * 27])
def test_application_of_no_name_is_refused(cast: Cast, app: str) -> None:
    body, where = {"max_entries": 1}, "/api/v1/memory/policy"

    answer = cast.ada.client.put(f"{where}?app={app}", body, "application/json")

    assert answer.status_code == 422
    assert list_applications(at_door(cast.ada)) == []


def test_limits_of_an_application_over_the_api(cast: Cast) -> None:
    client, where = cast.ada.client, "/api/v1/memory/policy"
    client.put(where, {"max_entries": 5, "max_value_bytes": 100}, "application/json")

    changed = client.put(f"{where}?app=app", {"max_entries": 9}, "application/json").json()

    assert changed == client.get(f"{where}?app=app").json()
    assert changed["own"]["max_entries"] == 9
    assert (changed["in_force"]["max_entries"], changed["in_force"]["max_value_bytes"]) == (5, 100)
    assert client.get(where).json()["own"]["max_entries"] == 5
    wrong = client.put(f"{where}?app=app", {"max_namespaces": 3}, "application/json")
    assert (wrong.status_code, "whole team" in markup_of(wrong)) == (422, True)
    assert client.get(f"{where}?team=x").status_code == 422
    assert cast.bob.client.post("/memory/policy/?app=app", {"follow": "1"}).status_code == 403


def test_limits_of_an_application_that_say_nothing_of_outside_people_leave_the_teams(
    cast: Cast,
) -> None:
    client, where = cast.ada.client, "/api/v1/memory/policy"
    client.put(where, {"subjects_write_global": True}, "application/json")

    changed = client.put(f"{where}?app=app", {"max_entries": 9}, "application/json").json()

    assert changed["own"]["subjects_write_global"] is None
    assert changed["in_force"]["subjects_write_global"] is True
    client.put(where, {"subjects_write_global": False}, "application/json")
    assert client.get(f"{where}?app=app").json()["in_force"]["subjects_write_global"] is False


def test_box_of_an_application_follows_the_team_or_forbids(cast: Cast) -> None:
    caller, address = at_door(cast.ada), "/memory/policy/?app=app"
    box = {"subjects_write_global": "on"}

    def said(typed: dict[str, str]) -> bool | None:
        assert cast.ada.client.post(address, {"max_entries": "9", **typed}).status_code == 302
        return get_limits(caller, app_id="app").subjects_write_global

    change_limits(caller, Limits(subjects_write_global=True))
    assert [said(box), said({})] == [None, False]
    assert 'name="subjects_write_global" checked' not in markup_of(cast.ada.client.get(address))
    assert said(box) is None
    change_limits(caller, Limits())
    shown = markup_of(cast.ada.client.get(address))
    assert 'name="subjects_write_global" disabled' in shown
    assert "Not allowed by the team’s quotas" in shown
    assert said({}) is None  # where there is nothing to tick, nothing is forbidden
