"""The picture of learning in a browser: select a run, read what it taught and used, and go back; with mouse and keys."""

import os

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.looking import CONTRAST, HEADINGS, NAMELESS, OVERFLOW, complaints, shut_out
from tests.journeys.people import Owner
from tests.journeys.shell import Shell


pytestmark = pytest.mark.browser

# Two workflows over three weeks: some runs teach, later ones use it, across workflows.
FILL = """
import random
from datetime import timedelta
from django.utils import timezone
from accounts.models import User
from accounts.principals import load_user_principal
from accounts.tenancy import tenant
from memory import services
from memory.services import CallOrigin, MemoryCaller
from tests.factories.workflows import make_run, make_workflow
from workflows.models import Run

user = User.objects.get(pk='{owner}')
principal = load_user_principal(user)
(team,) = principal.team_ids

class Owner:
    pass

owner = Owner()
owner.user, owner.principal = user, principal
from accounts.models import Team
owner.team = Team.objects.get(pk=team)
chance = random.Random(7)
flows = [make_workflow(owner, name=name) for name in ('Support desk', 'Release helper', 'Study with notes')]
questions = ('Sort the customer list', 'Deploy the shop', 'Why is the build red?', 'Answer the ticket of Mia',
             'Summarise chapter three', 'Fix the login page', '客户为什么退款', 'Plan the next release')
texts = ('The database refuses more than 100 connections', 'Pivots should be random', 'Port 5432 has to be open',
         'Customers in Japan prefer mail', 'Tests must run before a release', '退款需要三天')
known = []
now = timezone.now()
for number in range({runs}):
    flow = chance.choice(flows)
    run = make_run(owner, flow, inputs={{'text': chance.choice(questions)}}, subject_user=user)
    at = now - timedelta(days=21 * (1 - number / {runs}) ** 1.5, minutes=chance.randrange(300))
    with tenant([team]):
        Run.objects.unscoped().filter(pk=run.pk).update(
            created_at=at, finished_at=at, status=chance.choice(['succeeded'] * 6 + ['failed'])
        )
    caller = MemoryCaller(principal, team, origin=CallOrigin(str(run.pk), 'llm', f's{{number}}'))
    for place, key in chance.sample(known, min(len(known), chance.choice([0, 1, 1, 2]))):
        services.recall(caller, namespace=place, key=key, injected=chance.random() < 0.7)
    if chance.random() < 0.5:
        place = chance.choice(['global:shop', f'user:{{user.pk}}'])
        kind, name = chance.choice([('learning', 'learnings'), ('learning', 'learnings'), ('error', 'errors'), ('task', 'summary')])
        key = f'{{kind}}:{{number}}'
        services.remember(caller, namespace=place, key=key, value={{name: [f'{{chance.choice(texts)}} ({{number}})']}})
        known.append((place, key))
"""


def shoot(page: Page, name: str) -> None:
    if folder := os.environ.get("LEARNING_SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.fixture
def picture(signed_in: Page, owner: Owner, shell: Shell) -> Page:
    shell.run(FILL.format(runs=40, owner=owner.id))
    signed_in.goto("/memory/learning/")
    return signed_in


def test_run_is_selected_in_the_picture_and_read_below(picture: Page):
    page = picture
    dots = page.locator(".learn-picture a")
    expect(dots).to_have_count(40)
    shoot(page, "desktop-light")

    lit = page.locator(".learn-arc[data-lit]")
    expect(lit).to_have_count(0)
    page.locator(".learn-list > li").first.get_by_role("link", name="Show").press("Enter")
    expect(page.locator(".learn-run[data-selected]")).to_have_count(1)
    expect(page.locator("#list-title")).to_have_text("The selected run")
    expect(page.locator(".learn-list > li")).to_have_count(1)
    shoot(page, "selected-light")
    assert complaints(page, OVERFLOW, HEADINGS, NAMELESS, CONTRAST) == []
    assert shut_out(page) == []

    page.get_by_role("link", name="Show all runs").click()
    expect(page.locator(".learn-run[data-selected]")).to_have_count(0)
    dots.nth(3).click()
    expect(page.locator(".learn-run[data-selected]")).to_have_count(1)

    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto("/memory/learning/")
    shoot(page, "phone-dark")
    assert complaints(page, OVERFLOW, CONTRAST) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    shoot(page, "desktop-dark")
