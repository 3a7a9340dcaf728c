"""What a viewer sees of a workflow: the same prompts with the same pills as an editor, in forms that are read only."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.conftest import Troubles
from tests.journeys.people import Owner, sign_in
from tests.journeys.rooms import Rooms
from tests.journeys.seeing import ready
from tests.journeys.shell import Shell
from tests.support.stack import LiveStack


pytestmark = pytest.mark.browser

# Somebody of the owner's team who may look, signed in as a page would do it.
VIEWER = """
import secrets
from django.test import Client
from accounts.models import Team, User
from accounts.services import add_member
from accounts.tenancy import tenant
with tenant(["{team}"]):
    team = Team.objects.get(pk="{team}")
user = User.objects.create_user(f"vi-{{secrets.token_hex(8)}}@example.org", name="Vi")
add_member(team=team, user=user, role="viewer")
client = Client()
client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
made = {{name: cookie.value for name, cookie in client.cookies.items()}}
"""
# Whether the text of the layer behind can be seen through the field above it.
SEES_THROUGH = """area => {
  const { backgroundColor, backgroundImage } = getComputedStyle(area);
  return backgroundImage === "none" && /rgba\\(.*, 0\\)|transparent/.test(backgroundColor);
}"""


@pytest.fixture
def viewer(rooms: Rooms, live_stack: LiveStack, shell: Shell, owner: Owner) -> Iterator[Page]:
    with rooms.lent() as context:
        page, troubles = context.pages[0], Troubles()
        sign_in(context, live_stack.url, shell.run(VIEWER.format(team=owner.team)))
        troubles.watch(page)
        yield page
        troubles.leave(page)
    assert troubles.found == []


def test_prompt_with_its_pills_is_seen_by_who_may_not_change_it(signed_in: Page, viewer: Page):
    signed_in.goto("/workflows/new/")
    signed_in.get_by_role("button", name="Create", exact=True).click()
    ready(signed_in)

    viewer.goto(signed_in.url)
    ready(viewer)
    viewer.locator('wf-node[data-id="llm"]').click()

    prompt = viewer.locator("#panel-node [data-field=prompt_template]")
    areas = prompt.locator(".insp-paper > textarea:visible")
    expect(areas.first).to_have_attribute("readonly", "")
    assert all(area.evaluate(SEES_THROUGH) for area in areas.all())
    labels = prompt.locator(".insp-paper > pre .pill-label")
    expect(labels.last).to_be_visible()
    expect(labels.last).to_have_attribute("data-name", re.compile("query$"))
