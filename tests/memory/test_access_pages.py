"""Pages of rights: who can see a namespace and why, sharing it, emergency access, and the notice of it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.principals import KeyPrincipal
from accounts.services import add_to_group, create_group
from accounts.tenancy import tenant
from memory import services
from memory.models import EmergencyAccess, Namespace
from memory.services.gateway.caller import MemoryCaller
from tests.memory.services.conftest import at_door, in_run
from tests.support.cast import Cast, Person, make_key
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


@pytest.fixture
def place(cast: Cast) -> Namespace:
    """Bob's own."""
    services.remember(in_run(cast.bob), scope="user", key="secret", value="bob's secret")
    with tenant([cast.team_a.pk]):
        return Namespace.objects.unscoped().get(text=f"user:{cast.bob.user.pk}")


def page(person: Person, address: str) -> str:
    answer = person.client.get(address)
    assert answer.status_code == 200
    return markup_of(answer)


def test_owner_sees_who_can_see_it_and_shares_it_and_takes_it_back(
    cast: Cast, place: Namespace
) -> None:
    base = f"/memory/namespaces/{place.pk}/access/"
    before = page(cast.bob, base)
    assert ("Owner of this memory" in before, "No access: 3" in before) == (True, True)
    cast.bob.client.post(f"{base}share/", {"with": cast.vic.user.pk, "verb": ["view", "write"]})

    shared = page(cast.bob, base)
    assert "Shared by you on" in shared
    assert "No access: 2" in shared
    assert "Shared by Bob on" in page(cast.vic, base)
    assert "Revoke" not in page(cast.vic, base)
    services.remember(at_door(cast.vic), namespace=place.text, key="k", value=1)

    cast.bob.client.post(f"{base}unshare/", {"with": cast.vic.user.pk, "verb": ["view", "write"]})
    assert "No access: 3" in page(cast.bob, base)
    assert cast.vic.client.get(base).status_code == 404


def test_group_is_offered_where_memory_is_the_teams_and_refused_where_it_is_private(
    cast: Cast, place: Namespace
) -> None:
    group = create_group(cast.ada.principal, team=cast.team_a, name="Support")
    add_to_group(cast.ada.principal, group_id=group.pk, user_id=cast.vic.user.pk)
    asked, own = {"with": f"group:{group.pk}", "verb": "write"}, f"/memory/namespaces/{place.pk}/"
    assert f"group:{group.pk}" not in page(cast.bob, f"{own}access/")
    assert cast.bob.client.post(f"{own}access/share/", asked).status_code == 422

    services.remember(at_door(cast.ada), namespace="global:app", key="k", value=1)
    with tenant([cast.team_a.pk]):
        shared = Namespace.objects.unscoped().get(text="global:app")
    base = f"/memory/namespaces/{shared.pk}/access/"
    assert f"group:{group.pk}" in page(cast.ada, base)
    cast.ada.client.post(f"{base}share/", asked)
    assert "Shared with the group Support by you" in page(cast.ada, base)
    cast.ada.client.post(f"{base}unshare/", asked)
    assert "Shared with the group Support" not in page(cast.ada, base)


def test_team_memory_says_roles_and_keys(cast: Cast, api_key: Any) -> None:
    services.remember(at_door(cast.ada), namespace="global:app", key="k", value=1)
    api_key(cast.alice, scopes={"memory:read"})
    with tenant([cast.team_a.pk]):
        row = Namespace.objects.unscoped().get(text="global:app")

    shown = page(cast.vic, f"/memory/namespaces/{row.pk}/access/")

    for words in ("Role: Viewer", "Role: Owner", "API key with memory:read"):
        assert words in shown
    assert "Runs for external users can only read." in shown


def test_admin_looks_in_the_owner_is_told_on_the_page_and_ends_it(
    cast: Cast, place: Namespace
) -> None:
    asked = {"person": str(cast.bob.user.pk), "reason": "Police inquiry 7", "minutes": "60"}
    address = f"/memory/namespaces/{place.pk}/"
    assert cast.ada.client.get(address).status_code == 404

    looking = cast.ada.client.post("/memory/emergency-access/", asked)

    assert (looking.status_code, looking["Location"]) == (302, address)
    seen = page(cast.ada, address)
    assert "secret" in seen
    assert "Forget" not in seen  # reading alone
    told = page(cast.bob, "/memory/emergency-access/")
    for words in ("Ada", "Police inquiry 7", "Reads: 2", "Acknowledge"):
        assert words in told
    assert "Ada can view your memory until" in told
    assert "Emergency access until" in page(cast.bob, f"{address}access/")
    with tenant([cast.team_a.pk]):
        emergency_access = EmergencyAccess.objects.unscoped().get()

    cast.bob.client.post(f"/memory/emergency-access/{emergency_access.pk}/end/")
    assert cast.ada.client.get(address).status_code == 404
    back = cast.bob.client.post(
        f"/memory/emergency-access/{emergency_access.pk}/seen/", {"next": "/memory/about/"}
    )
    assert back["Location"] == "/memory/about/"
    after = page(cast.bob, "/memory/emergency-access/")
    assert ("data-emergency-notice" in after, "Police inquiry 7" in after) == (False, True)


def test_who_looks_by_emergency_access_is_offered_no_file_and_gets_none(
    cast: Cast, place: Namespace
) -> None:
    written = {"title": "Pay", "summary": "", "content": "Much.", "tags": [], "references": []}
    (kept,) = services.write_pages(at_door(cast.bob), namespace=place.text, pages=[written])
    asked = {"person": str(cast.bob.user.pk), "reason": "Police inquiry 7", "minutes": "60"}
    cast.ada.client.post("/memory/emergency-access/", asked)
    ways = {
        f"/memory/namespaces/{place.pk}/": f"/memory/export/?namespace={place.pk}",
        reverse("memory:knowledge_base", args=[place.pk]): reverse(
            "memory:knowledge_export", args=[place.pk]
        ),
        reverse("memory:knowledge_page", args=[kept.entry.id]): reverse(
            "memory:knowledge_file", args=[kept.entry.id]
        ),
    }

    for shown, file in ways.items():
        assert f'href="{file}"' not in page(cast.ada, shown)
        assert f'href="{file}"' in page(cast.bob, shown)
        assert cast.ada.client.get(file).status_code == 403
        assert cast.bob.client.get(file).status_code == 200
    for file in ("memory/export", "knowledge/export"):
        refused = cast.ada.client.get(f"/api/v1/{file}?namespace={place.text}")
        assert refused.status_code == 403


def test_notice_leads_back_to_a_page_and_never_to_where_a_form_was_sent(
    cast: Cast, place: Namespace
) -> None:
    asked = {"person": str(cast.bob.user.pk), "reason": "Police inquiry 7", "minutes": "60"}
    cast.ada.client.post("/memory/emergency-access/", asked)

    shown = page(cast.bob, "/memory/about/?by=when")
    refused = markup_of(cast.bob.client.post("/memory/about/pause/", {"span": "aeon"}))

    forms = [one.split("/seen/")[1].split("</form>")[0] for one in (shown, refused)]
    assert 'name="next" value="/memory/about/?by=when"' in forms[0]
    assert ("Acknowledge" in forms[1], 'name="next"' in forms[1]) == (True, False)


def test_in_a_team_of_one_there_is_nobody_to_share_with(carol: Person) -> None:
    services.remember(at_door(carol), namespace="global:shop", key="k", value=1)
    with tenant([carol.team.pk]):
        row = Namespace.objects.unscoped().get(text="global:shop")
    base = f"/memory/namespaces/{row.pk}/access/"

    alone = page(carol, base)
    group = create_group(carol.principal, team=carol.team, name="Support")
    grouped = page(carol, base)

    assert ("the only member of this team" in alone, f"{base}share/" in alone) == (True, False)
    assert 'href="/team/">Invite a teammate' in alone
    assert ("the only member of this team" in grouped, f"{base}share/" in grouped) == (False, True)
    assert (f"group:{group.pk}" in grouped, ">Carol</option>" in grouped) == (True, False)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"person": "", "namespace": ""}, "not both"),
        ({"person": "", "namespace": "user:nobody"}, "No memory found under this name"),
        ({"person": "", "namespace": "nonsense"}, "is not a namespace"),
        ({"reason": " "}, "The user will see it"),
        ({"minutes": "7"}, "minutes"),
    ],
)
def test_form_that_asks_wrongly_says_what_and_keeps_what_was_typed(
    cast: Cast, place: Namespace, asked: dict[str, str], says: str
) -> None:
    filled = {"person": str(cast.bob.user.pk), "reason": "an inquiry", "minutes": "60", **asked}

    answer = cast.ada.client.post("/memory/emergency-access/", filled)

    shown = markup_of(answer)
    assert (answer.status_code, says in shown) == (422, True)
    assert filled["reason"].strip() in shown
    with tenant([cast.team_a.pk]):
        assert not EmergencyAccess.objects.unscoped().exists()


def test_who_may_not_look_is_offered_no_form(cast: Cast) -> None:
    shown = page(cast.vic, "/memory/emergency-access/")

    assert ("Open and notify" in shown, "Nobody has accessed your memory" in shown) == (False, True)


def test_notice_costs_a_page_one_question(cast: Cast, place: Namespace) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as found:
            page(cast.bob, "/memory/emergency-access/")
        return sum("memory_emergencyaccess" in one["sql"] for one in found)

    assert asked() == 2  # the notice and the list


def test_both_lists_of_emergency_access_are_turned_apart(cast: Cast, place: Namespace) -> None:
    """An admin's own memory was looked into by the owner, and they themselves looked into Bob's."""
    services.remember(in_run(cast.ada), scope="user", key="mine", value="ada's secret")
    with tenant([cast.team_a.pk]):
        own = Namespace.objects.unscoped().get(text=f"user:{cast.ada.user.pk}")
        begun = timezone.now() - timedelta(days=2)
        EmergencyAccess.objects.unscoped().bulk_create(
            EmergencyAccess(
                team=cast.team_a,
                namespace=namespace,
                by=by.user,
                reason=f"{word} {number:02}.",
                created_at=begun + timedelta(minutes=number),
                expires_at=begun + timedelta(minutes=number + 15),
                seen_by=[cast.ada.user.pk, cast.bob.user.pk],  # no notices on top
            )
            for word, namespace, by in (("own", own, cast.alice), ("bob", place, cast.ada))
            for number in range(27)
        )

    def told(query: str = "") -> tuple[list[str], list[str]]:
        text = page(cast.ada, f"/memory/emergency-access/{query}")
        return re.findall(r"Reason: own (\d\d)", text), re.findall(r"Reason: bob (\d\d)", text)

    newest, oldest = [f"{n:02}" for n in range(26, 1, -1)], ["01", "00"]
    assert told() == (newest, newest)
    assert told("?mine=25") == (oldest, newest)
    assert told("?offset=25") == (newest, oldest)
    assert told("?mine=25&offset=25") == (oldest, oldest)
    assert told("?mine=nonsense&offset=900") == (newest, [])
    first = page(cast.ada, "/memory/emergency-access/?mine=25")
    assert 'href="?mine=25&amp;offset=25"' in first  # each keeps where the other is
    theirs = page(cast.bob, "/memory/emergency-access/")
    assert theirs.count("Reason: bob") == 25
    assert "Reason: own" not in theirs


def test_page_of_rights_shows_fifty_people_and_asks_as_often_for_many(
    cast: Cast, place: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.views.access.sharing.PAGE_SIZE", 2)
    services.remember(at_door(cast.alice), namespace="global:team", key="k", value="v")
    with tenant([cast.team_a.pk]):
        shared = Namespace.objects.unscoped().get(text="global:team")
    address = f"/memory/namespaces/{shared.pk}/access/"
    client = cast.alice.client

    def asked(query: str = "") -> tuple[int, str]:
        client.get(address)
        with CaptureQueriesContext(connection) as questions:
            page = markup_of(client.get(address + query))
        return len(questions), re.sub(r"\s+", " ", page)

    for group in ("One", "Two"):
        made = create_group(cast.ada.principal, team=cast.team_a, name=group)
        add_to_group(cast.ada.principal, group_id=made.pk, user_id=cast.vic.user.pk)
    few, first = asked()
    for person in (cast.bob, cast.vic, cast.ada):
        services.share(
            at_door(cast.alice), namespace="global:team", verb="forget", recipient=person.user
        )
    many, _ = asked()
    _, last = asked("?offset=2")

    lines = [page.count('class="access-name"') for page in (first, last)]
    assert (lines, "1–2 of 4" in first) == ([2, 2], True)
    assert many - few == 1  # who shared it and when, asked of the trail once


def test_users_of_programs_are_listed_with_the_amount_and_lead_to_the_form(
    cast: Cast,
) -> None:
    key, _secret = make_key(cast, cast.alice)
    caller = MemoryCaller(KeyPrincipal(key), cast.team_a.pk)
    for name in ("mia", "tom"):
        services.remember(caller, namespace=f"user:{name}", key="k", value="likes tea")
    services.remember(caller, namespace="user:mia", key="more", value="likes cake")

    shown = page(cast.ada, "/memory/emergency-access/")
    chosen = page(cast.ada, "/memory/emergency-access/?namespace=user%3Amia")

    assert "likes" not in shown
    listed = shown.partition("External and test users</h2>")[2]
    assert listed.index("mia") < listed.index("tom")  # the last change first
    assert 'href="/memory/emergency-access/?namespace=user%3Amia#emergency-reason"' in shown
    assert 'value="user:mia"' in chosen
    assert "External and test users" not in page(cast.bob, "/memory/emergency-access/")
