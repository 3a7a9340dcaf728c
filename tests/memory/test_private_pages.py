"""What private memory of others shows, and to whom: that it is there, that somebody looks, that nobody can be told."""

from typing import Any

import pytest

from accounts.personas import make_persona_id
from accounts.tenancy import tenant
from memory import services
from memory.models import EmergencyAccess, Entry, Namespace
from tests.memory.services.conftest import at_door, in_run
from tests.memory.test_access_pages import page
from tests.support.cast import Cast, Person
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db

REASON = "Police inquiry 7"


@pytest.fixture
def outside(cast: Cast, api_key: Any) -> tuple[Any, Namespace]:
    """Ana has no account; the key that names her, and what is remembered of her."""
    app = api_key(cast.alice)
    told = {"namespace": "user:ana", "key": "secret", "value": "ana's secret"}
    assert app.post("/api/v1/memory/entries", told, "application/json").status_code == 201
    return app, space(cast, "user:ana")


@pytest.fixture
def bobs(cast: Cast) -> Namespace:
    services.remember(in_run(cast.bob), scope="user", key="secret", value="bob's secret")
    return space(cast, f"user:{cast.bob.user.pk}")


def space(cast: Cast, text: str) -> Namespace:
    with tenant([cast.team_a.pk]):
        return Namespace.objects.unscoped().get(text=text)


def look(person: Person, row: Namespace) -> str:
    asked = {"namespace": row.text, "reason": REASON, "minutes": "15"}
    answer = person.client.post("/memory/emergency-access/", asked, follow=True)
    assert answer.status_code == 200
    return markup_of(answer)


def test_outside_person_cannot_be_told_and_the_key_that_names_them_is(
    cast: Cast, outside: tuple[Any, Namespace]
) -> None:
    app, row = outside

    shown = look(cast.ada, row)

    assert ("The user was notified" in shown, "The user was notified. Everything" in shown) == (
        False,
        False,
    )
    assert "The user has no account and can&#x27;t be notified; the access" in shown
    assert "The user has no account and can't be notified. Everything" in shown
    assert "no account to notify" in page(cast.ada, "/memory/emergency-access/")
    told = app.get("/api/v1/memory/subjects/ana/looks").json()["items"]
    assert [(one["by_name"], one["reason"], one["is_open"]) for one in told] == [
        ("Ada", REASON, True)
    ]
    assert told[0]["reads"] > 0
    assert app.get("/api/v1/memory/subjects/uma/looks").status_code == 404


def test_who_looks_sees_so_on_each_page_and_ends_it_there(cast: Cast, bobs: Namespace) -> None:
    shown = look(cast.ada, bobs)
    with tenant([cast.team_a.pk]):
        entry, emergency_access = (
            Entry.objects.unscoped().get(),
            EmergencyAccess.objects.unscoped().get(),
        )

    for one in (shown, page(cast.ada, f"/memory/entries/{entry.pk}/")):
        assert "Emergency access: you can view “Bob” until" in one
        assert f"Reason: {REASON}" in one
        assert f"/memory/emergency-access/{emergency_access.pk}/end/" in one
    assert "data-emergency-notice" not in page(cast.bob, f"/memory/entries/{entry.pk}/")


def test_owner_is_told_on_every_page_until_they_say_they_saw_it(
    cast: Cast, bobs: Namespace
) -> None:
    address = "/memory/emergency-access/notices/"
    assert cast.bob.client.get(address).status_code == 204
    look(cast.ada, bobs)

    for somewhere in ("/", "/workflows/", f"/memory/namespaces/{bobs.pk}/", "/profile/"):
        answer = cast.bob.client.get(somewhere, follow=True)
        assert f'hx-get="{address}"' in markup_of(answer), somewhere
    here = {"HX-Request": "true", "HX-Current-URL": "http://testserver/runs/?status=failed"}
    told = markup_of(cast.bob.client.get(address, headers=here))
    assert "Ada can view your memory" in told
    assert 'name="next" value="/runs/?status=failed"' in told
    assert cast.ada.client.get(address).status_code == 204  # her own is on what she looks at

    with tenant([cast.team_a.pk]):
        emergency_access = EmergencyAccess.objects.unscoped().get()
    cast.bob.client.post(f"/memory/emergency-access/{emergency_access.pk}/seen/")
    assert cast.bob.client.get(address).status_code == 204


def test_page_about_oneself_says_who_else_sees_it(cast: Cast, bobs: Namespace) -> None:
    about = "/memory/about/"
    assert "Nobody else can see it." in page(cast.bob, about)
    services.share(at_door(cast.bob), namespace=bobs.text, verb="view", recipient=cast.vic.user)
    shared = page(cast.bob, about)
    look(cast.ada, bobs)
    with tenant([cast.team_a.pk]):
        emergency_access = EmergencyAccess.objects.unscoped().get()
    cast.bob.client.post(f"/memory/emergency-access/{emergency_access.pk}/seen/")

    looked_into = page(cast.bob, about)

    for one in (shared, looked_into):
        assert "Nobody else can see it." not in one
    assert "You shared it" in shared
    assert "Ada currently has emergency access" in looked_into
    services.unshare(at_door(cast.bob), namespace=bobs.text, verb="view", recipient=cast.vic.user)
    cast.bob.client.post(f"/memory/emergency-access/{emergency_access.pk}/end/")
    assert "Nobody else can see it." in page(cast.bob, about)


def test_who_was_looked_into_is_not_told_that_nobody_used_it(cast: Cast) -> None:
    services.remember(in_run(cast.alice), scope="user", key="secret", value="alice's")
    before = page(cast.alice, "/memory/emergency-access/")
    look(cast.ada, space(cast, f"user:{cast.alice.user.pk}"))

    after = page(cast.alice, "/memory/emergency-access/")

    assert "No emergency access so far." in before
    assert ("No emergency access so far." in after, "to the memory of others so far" in after) == (
        False,
        True,
    )


def test_admin_learns_that_there_is_private_memory_and_finds_whose_and_nobody_else_does(
    cast: Cast, outside: tuple[Any, Namespace], bobs: Namespace
) -> None:
    ben = make_persona_id("ben", cast.bob.user.pk)
    services.remember(in_run(cast.bob, user_id=ben), scope="user", key="k", value="v")
    talk = in_run(cast.bob, conversation_id="talk-1")
    services.remember(talk, scope="conversation", key="k", value="hush")

    seen = {name: page(cast.people[name], "/memory/") for name in ("ada", "alice", "bob", "vic")}

    for name in ("ada", "alice"):
        assert "Users: 3" in seen[name], name
        assert "conversations: 1" in seen[name]
        assert 'href="/memory/emergency-access/"' in seen[name]
    for name in ("bob", "vic"):
        assert "Not shown: private memory" not in seen[name], name
    offered = page(cast.ada, "/memory/emergency-access/").split('<datalist id="emergency-people">')[
        1
    ]
    offered = offered.split("</datalist>")[0]
    assert '<option value="user:ana">ana (external user)</option>' in offered
    assert "ben (test user of Bob)" in offered
    assert ("secret" in offered, "talk-1" in offered) == (False, False)
    assert "emergency-people" not in page(cast.vic, "/memory/emergency-access/")
