"""A new key's presets and its way back; the trail without one's own reads; joining with one form."""

from typing import Any

import pytest
from django.urls import reverse

from accounts import audit
from accounts.models import ApiKey
from accounts.services import create_invitation
from accounts.tenancy import tenant
from accounts.views.audit import FAMILIES
from tests.support.cast import Cast, Person


KEYS, TRAIL = reverse("accounts:keys"), reverse("accounts:audit")


def scopes(person: Person) -> list[str]:
    with tenant([person.team.pk]):
        return ApiKey.objects.unscoped().latest("created_at").scopes


def test_preset_gives_the_permissions_to_run_workflows(alice: Person):
    answer = alice.client.post(KEYS, {"name": "Bot", "preset": "run", "days": "30"})

    assert answer.status_code == 200
    assert scopes(alice) == ["runs:read", "runs:write", "workflows:read"]


def test_custom_permissions_are_those_that_are_ticked(alice: Person):
    body = {"name": "Bot", "preset": "custom", "scopes": ["team:read"], "days": "30"}

    assert alice.client.post(KEYS, body).status_code == 200
    assert scopes(alice) == ["team:read"]


def test_custom_permissions_without_one_are_refused(alice: Person):
    answer = alice.client.post(KEYS, {"name": "Bot", "preset": "custom", "days": "30"})

    assert answer.status_code == 422
    assert "Select at least one permission." in answer.content.decode()


def test_key_says_who_keeps_the_conversations_on_its_page_and_in_the_api(alice: Person):
    body = {"name": "Bot", "preset": "run", "days": "30", "history": "server"}
    page = alice.client.post(KEYS, body).content.decode()
    keys = f"/api/v1/teams/{alice.team.pk}/keys"
    made = {"name": "shop", "scopes": ["runs:write"], "history": "client"}

    added = alice.client.post(keys, made, content_type="application/json")
    odd = alice.client.post(keys, made | {"history": "both"}, content_type="application/json")

    assert page.count("a request without an id of a conversation is refused") == 2
    assert (added.status_code, added.json()["history"], odd.status_code) == (201, "client", 422)
    rows = alice.client.get(keys).json()["items"]
    assert sorted(row["history"] for row in rows) == ["client", "server"]


def test_who_keeps_the_conversations_of_a_key_is_changed_on_a_page_and_by_the_api(alice: Person):
    keys = f"/api/v1/teams/{alice.team.pk}/keys"
    made = {"name": "shop", "scopes": ["runs:write"]}
    key = alice.client.post(keys, made, content_type="application/json").json()["id"]
    page, address = f"/team/keys/{key}/history/", f"/api/v1/keys/{key}/history"

    def change(history: str) -> Any:
        return alice.client.put(address, {"history": history}, content_type="application/json")

    is_linked = page in alice.client.get(KEYS).content.decode()
    saved = alice.client.post(page, {"history": "server"})
    shown = alice.client.get(page).content.decode()
    changed, again, odd = change("client"), change("client"), change("both")
    wrong = alice.client.post(page, {"history": "both"})
    alice.client.delete(f"/api/v1/keys/{key}")
    late = change("server"), alice.client.post(page, {"history": "server"})

    assert (is_linked, saved.status_code) == (True, 302)
    assert '<option value="server" selected>' in shown
    assert [each.json()["history"] for each in (changed, again)] == ["client", "client"]
    assert (odd.status_code, wrong.status_code) == (422, 422)
    assert [each.status_code for each in late] == [422, 422]
    assert [row["history"] for row in alice.client.get(keys).json()["items"]] == ["client"]
    changes = alice.client.get(TRAIL, {"action": "key.history_changed"}).context["page"].lines
    assert [line.entry.detail for line in changes] == [{"history": "client"}, {"history": "server"}]


@pytest.mark.parametrize(
    ("back", "offered"),
    [("/workflows/x/", "/workflows/x/"), ("//evil.example/", ""), ("https://evil.example", "")],
)
def test_key_leads_back_to_a_page_of_this_site_only(alice: Person, back: str, offered: str):
    body = {"name": "Bot", "preset": "run", "days": "30", "back": back}

    answer = alice.client.post(KEYS, body)

    assert answer.context["back"] == offered
    assert alice.client.get(KEYS, {"back": back}).context["back"] == offered


def actions(person: Person, **query: str) -> set[str]:
    page = person.client.get(TRAIL, query).context["page"]
    return {line.entry.action for line in page.lines}


@pytest.fixture
def trail(cast: Cast) -> Cast:
    for person in (cast.alice, cast.bob):
        actor = person.principal.actor
        for action, success in (("memory.listed", True), ("memory.stored", True)):
            audit.record(
                team_id=cast.team_a.pk, actor=actor, action=action, subject="x", success=success
            )
    return cast


def test_trail_hides_ones_own_reads_and_shows_those_of_others(trail: Cast):
    page = trail.alice.client.get(TRAIL).context["page"]
    readers = [line.entry.actor for line in page.lines if line.entry.action == "memory.listed"]

    assert readers == [trail.bob.principal.actor]
    assert "memory.listed" in actions(trail.alice, reads="1")
    assert "memory.listed" in actions(trail.alice, actor=trail.alice.principal.actor)


def test_export_of_the_trail_leaves_nothing_out(trail: Cast):
    answer = trail.alice.client.post(reverse("accounts:export_audit"), {"format": "csv"})

    assert b"".join(answer).count(b"memory.listed") == 2


def test_invitation_asks_for_an_account_on_its_own_page(cast: Cast, client):
    _row, token = create_invitation(cast.ada.principal, team=cast.team_a, role="viewer")

    page = client.get(reverse("accounts:invitation", args=[token])).content.decode()

    assert f'action="{reverse("account_signup")}"' in page
    assert "password2" not in page
    assert "Create account and join" in page


def test_page_after_a_mistake_still_names_the_team_of_the_invitation(cast: Cast, client):
    _row, token = create_invitation(cast.ada.principal, team=cast.team_a, role="viewer")
    client.get(reverse("accounts:invitation", args=[token]))

    body = {"name": "Zoe", "email": "zoe@example.com", "password1": "1234"}
    page = client.post(reverse("account_signup"), body).content.decode()

    assert f"Join {cast.team_a.name}" in page
    assert "Create account and join" in page


def test_new_invitation_has_a_button_that_copies_its_link(cast: Cast):
    page = cast.ada.client.post(
        reverse("accounts:invite"), {"role": "viewer", "email": ""}, follow=True
    ).content.decode()

    assert 'data-copy="invitation-link"' in page


def test_every_action_of_the_trail_has_a_family_with_a_label():
    families = {name.partition(".")[0] for name in audit.AUDIT_ACTIONS}

    assert families <= {*FAMILIES}
