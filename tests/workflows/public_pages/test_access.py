"""Who may open a page, who may change that, and what is limited."""

import re
from typing import Any

import pytest

from accounts.models import ApiKey
from tests.support.cast import Cast
from tests.workflows.public_pages.conftest import Visitor, newest_run, read
from workflows.errors import InvalidValue
from workflows.models import PublicPage, Workflow
from workflows.models.run import Channel
from workflows.services.public_pages import limits
from workflows.services.public_pages.settings import change_page, check_origins


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def locked(cast: Cast, chat: Workflow) -> PublicPage:
    return change_page(
        cast.alice.principal, workflow=chat, access="password", password="open sesame"
    )


def test_password_is_asked_before_anything_else(locked: PublicPage):
    visitor = Visitor(locked)

    assert 'name="password"' in visitor.get().content.decode()
    assert visitor.get("memory/").status_code == 404
    assert visitor.post("say/", query="Hi").status_code == 404
    assert visitor.post("password/", password="wrong one").status_code == 422
    assert visitor.post("password/", password="open sesame").status_code == 302
    assert 'name="query"' in visitor.get().content.decode()
    assert visitor.post("say/", query="Hi").status_code == 200


def test_another_password_locks_the_page_again(cast: Cast, chat: Workflow, locked: PublicPage):
    visitor = Visitor(locked)
    visitor.post("password/", password="open sesame")
    run = visitor.say("Hi")

    change_page(cast.alice.principal, workflow=chat, access="password", password="another one")
    assert visitor.get(f"turns/{run.pk}/").status_code == 404
    visitor.post("password/", password="another one")
    assert visitor.get(f"turns/{run.pk}/").status_code == 200


def test_password_is_stored_as_a_hash(locked: PublicPage):
    assert "sesame" not in locked.password
    assert locked.password.startswith(("argon2", "pbkdf2", "md5"))


def test_wrong_passwords_are_refused_after_some(
    locked: PublicPage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(limits, "PASSWORDS_PER_NETWORK", 3)
    visitor = Visitor(locked)

    statuses = [visitor.post("password/", password="wrong").status_code for _try in range(5)]
    assert statuses == [422, 422, 422, 429, 429]
    assert visitor.post("password/", password="open sesame").status_code == 429


def test_page_for_members_is_theirs_alone(cast: Cast, chat: Workflow):
    page = change_page(cast.alice.principal, workflow=chat, access="members")
    anonymous, member = Visitor(page), Visitor(page, cast.vic.client)

    answer = anonymous.client.get(anonymous.root)
    assert (answer.status_code, "/accounts/login/" in answer["Location"]) == (302, True)
    assert Visitor(page, cast.carol.client).get().status_code == 404
    assert member.get().status_code == 200
    assert 'href="/memory/about/"' in member.get().content.decode()
    assert member.get("memory/").status_code == 404
    assert member.post("memory/forget-all/").status_code == 404
    run = member.say("Hello")
    assert (run.started_by_id, run.subject_user_id) == (cast.vic.user.pk, cast.vic.user.pk)
    assert Visitor(page, cast.bob.client).get(f"turns/{run.pk}/").status_code == 404


@pytest.mark.parametrize(
    ("name", "limit"),
    [("WRITES_PER_VISITOR", 2), ("WRITES_PER_NETWORK", 2), ("WRITES_PER_PAGE", 2)],
)
def test_messages_are_limited(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, name: str, limit: int
):
    monkeypatch.setattr(limits, name, limit)

    answers = [visitor.post("say/", query="Hi") for _message in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[-1]["Retry-After"]) >= 1


def test_limit_of_the_key_of_the_page_is_a_budget(visitor: Visitor, page: PublicPage):
    read(lambda: ApiKey.objects.unscoped().filter(pk=page.api_key_id).update(runs_per_day=1))
    visitor.say("Hello")

    answer = visitor.post("say/", query="And again")
    assert answer.status_code == 429
    assert "This page has reached a limit. Please try again later." in answer.content.decode()


def test_form_post_needs_the_token_and_the_frame_only_its_header(page: PublicPage):
    from django.test import Client

    browser = Visitor(page, Client(enforce_csrf_checks=True))
    browser.get()
    assert browser.post("say/", query="Hi").status_code == 403

    frame = {"X-Visitor": "", "HX-Request": "true"}
    ticket = browser.post("visitor/", headers=frame).json()["ticket"]
    assert (
        browser.post("say/", headers=frame | {"X-Visitor": ticket}, query="Hi").status_code == 200
    )
    assert newest_run().channel == Channel.EMBED


def test_frame_is_for_the_sites_of_the_page_alone(cast: Cast, chat: Workflow, visitor: Visitor):
    assert policy_of(visitor.get("embed/")) == "frame-ancestors 'none'"

    change_page(
        cast.alice.principal, workflow=chat, access="link", origins=["https://Shop.example.com/"]
    )
    frame = visitor.get("embed/")
    assert policy_of(frame) == "frame-ancestors https://shop.example.com"
    assert "X-Frame-Options" not in frame.headers
    page = visitor.get()
    assert (policy_of(page), page["X-Frame-Options"]) == ("frame-ancestors 'none'", "DENY")


def policy_of(answer: Any) -> str:
    parts = answer["Content-Security-Policy"].split("; ")
    return next(part for part in parts if part.startswith("frame-ancestors"))


@pytest.mark.parametrize(
    "text", ["shop.example.com", "https://a.example/path", "javascript:alert(1)", "https://*", "*"]
)
def test_other_than_a_site_is_refused(text: str):
    with pytest.raises(InvalidValue):
        check_origins([text])


def test_settings_are_for_those_who_may_share(cast: Cast, chat: Workflow):
    path = f"/workflows/{chat.pk}/page/"

    assert cast.bob.client.post(path, {"access": "link"}).status_code == 403
    assert cast.ada.client.post(path, {"access": "link"}).status_code == 302
    page = read(lambda: PublicPage.objects.unscoped().get(workflow=chat))
    assert Visitor(page).get().status_code == 200
    old = page.token
    assert cast.bob.client.post(f"{path}renew/").status_code == 403
    assert cast.ada.client.post(f"{path}renew/").status_code == 302
    assert Visitor(PublicPage(token=old)).get().status_code == 404


def test_key_of_a_page_is_no_key_for_people(cast: Cast, page: PublicPage):
    keys = f"/api/v1/teams/{cast.team_a.pk}/keys"

    assert str(page.api_key_id) not in cast.alice.client.get(keys).content.decode()
    assert "Public page" not in cast.alice.client.get("/team/keys/").content.decode()
    for verb in ("revoke", "rotate"):
        answer = cast.alice.client.post(f"/team/keys/{page.api_key_id}/{verb}/")
        assert answer.status_code in (404, 422)
    assert not read(lambda: ApiKey.objects.unscoped().get(pk=page.api_key_id)).revoked_at


def test_new_conversation_begins_in_the_message_box(visitor: Visitor):
    conversation = read(lambda: visitor.say("Hello").conversation)
    assert conversation is not None

    boxes = [
        re.findall(r'<textarea\s+name="query"[^>]*>', answer.content.decode())
        for answer in (visitor.get(), visitor.get(conversation=conversation.key))
    ]

    assert [["autofocus" in box for box in each] for each in boxes] == [[True], [False]]


def test_button_to_memory_has_a_word_on_a_phone(visitor: Visitor):
    assert '<span class="talk-short">Memory</span>' in visitor.get().content.decode()
