"""Emergency access by two people: one asks and reads, the other sees it at once and ends it; in both languages."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.conftest import Troubles
from tests.journeys.languages import LANGUAGES
from tests.journeys.looking import CONTRAST, HEADINGS, NAMELESS, OVERFLOW, complaints, shut_out
from tests.journeys.people import Owner, sign_in
from tests.journeys.rooms import Rooms
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

# Somebody of the owner's team, told something by the chatbot; signed in as a page would do it.
COLLEAGUE = """
import secrets
from django.test import Client
from accounts.models import Team, User
from accounts.principals import load_user_principal
from accounts.services import add_member
from accounts.tenancy import tenant
from memory import services
from memory.services import CallOrigin, MemoryCaller, list_reachable
with tenant(["{team}"]):
    team = Team.objects.get(pk="{team}")
mia = User.objects.create_user(f"mia-{{secrets.token_hex(8)}}@example.org", name="{name}")
add_member(team=team, user=mia, role="editor")
known = dict(user_id=str(mia.pk), app_id="app", run_id="r1")
run = MemoryCaller(load_user_principal(mia), team.pk, identity=known, reach=list_reachable(known), origin=CallOrigin("r1", "n", "s"))
services.remember(run, scope="user", key="{name} drinks", value="Green tea in the morning")
client = Client()
client.force_login(mia, backend="allauth.account.auth_backends.AuthenticationBackend")
made = {{name: cookie.value for name, cookie in client.cookies.items()}}
"""
NAME = "Mia"


@pytest.fixture
def colleague(
    rooms: Rooms, live_stack: LiveStack, shell: Shell, owner: Owner, language: str
) -> Iterator[Page]:
    """Mia's own browser."""
    cookies = shell.run(COLLEAGUE.format(team=owner.team, name=NAME))
    with rooms.lent() as context:
        page, troubles = context.pages[0], Troubles()
        page.set_viewport_size({"width": 390, "height": 844})
        sign_in(context, live_stack.url, {**cookies, "django_language": language})
        troubles.watch(page)
        yield page
        troubles.leave(page)
    assert troubles.found == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_emergency_access_is_seen_and_ended_by_whose_memory_it_is(
    signed_in: Page, colleague: Page, live_stack: LiveStack, language: str
):
    owner, mia = signed_in, colleague
    owner.context.add_cookies(
        [{"name": "django_language", "value": language, "url": live_stack.url}]
    )
    mia.goto("/memory/emergency-access/")
    expect(mia.locator("html")).to_have_attribute("lang", language)
    expect(mia.locator("[data-emergency-notice]")).to_have_count(0)

    owner.goto("/memory/emergency-access/")
    owner.locator("#emergency-person").select_option(label=NAME)
    owner.locator("#emergency-reason").fill("Case 2031")
    owner.locator("input[name=minutes][value='60']").check()
    assert complaints(owner, CONTRAST, NAMELESS, HEADINGS) + shut_out(owner) == []
    owner.locator("form[action='/memory/emergency-access/'] button[type=submit]").click()
    owner.get_by_role("link", name="Green tea in the morning").first.click()
    expect(owner.locator("main")).to_contain_text(f"{NAME} drinks")

    mia.reload()
    notice = mia.locator("[data-emergency-notice]")
    expect(notice).to_contain_text("Case 2031")
    told = mia.locator(".emergency-rows").first
    expect(told.get_by_role("link", name=f"{NAME} drinks")).to_be_visible()
    assert complaints(mia, CONTRAST, NAMELESS, HEADINGS, OVERFLOW) + shut_out(mia) == []
    notice.locator("form[action$='/end/'] button").click()
    expect(mia.locator(".emergency-rows .pill-warn")).to_have_count(0)
    mia.locator("[data-emergency-notice] form[action$='/seen/'] button").click()
    expect(mia.locator("[data-emergency-notice]")).to_have_count(0)
    expect(mia.locator(".emergency-rows").first).to_contain_text("Case 2031")

    answer = owner.request.get(owner.url)
    assert answer.status == 404
    the_trail_tells_it(owner)


def the_trail_tells_it(owner: Page) -> None:
    owner.goto("/team/audit/?action=memory.emergency_access_started")
    line = owner.locator(".trail > li").first
    line.locator("summary").click()
    expect(line.locator(".facts")).to_contain_text("Case 2031")
    owner.locator("form[action$='/verify/'] button").click()
    expect(owner.locator("#verified")).to_have_class(re.compile("notice-ok"))
    assert complaints(owner, CONTRAST, NAMELESS, HEADINGS) + shut_out(owner) == []
