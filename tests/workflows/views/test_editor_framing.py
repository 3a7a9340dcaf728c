"""The drawing in somebody else's page, and what a published workflow offers to be called by."""

import json

import pytest
from django.urls import reverse

from config.env import Env
from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from tests.workflows.views.conftest import text_of
from workflows.models import Workflow
from workflows.services import publishing


WIKI = "https://wiki.example.com"


@pytest.fixture
def published(alice: Person, chat: Workflow) -> Workflow:
    publishing.publish(alice.principal, workflow=chat)
    return chat


def page(who: Person, workflow: Workflow, **query: str):
    return who.client.get(reverse("workflows:detail", args=[workflow.pk]), query)


def framing(response) -> tuple[str, str | None]:
    policy = dict(
        part.strip().partition(" ")[::2]
        for part in response.headers["Content-Security-Policy"].split(";")
    )
    return policy["frame-ancestors"], response.headers.get("X-Frame-Options")


def test_no_page_may_be_framed_unless_the_server_names_a_site(alice: Person):
    workflow = make_workflow(alice)

    assert framing(page(alice, workflow)) == ("'none'", "DENY")
    assert framing(page(alice, workflow, embed="1")) == ("'none'", "DENY")


def test_named_site_may_frame_the_drawing_and_nothing_else(alice: Person, settings):
    settings.EMBED_ORIGINS = (WIKI,)
    workflow = make_workflow(alice)

    assert framing(page(alice, workflow, embed="1")) == (WIKI, None)
    assert framing(page(alice, workflow)) == ("'none'", "DENY")
    assert framing(alice.client.get("/memory/")) == ("'none'", "DENY")


def test_embedded_drawing_is_to_look_at_also_for_who_may_edit(alice: Person):
    workflow = make_workflow(alice)

    assert 'data-can-edit="yes"' in text_of(page(alice, workflow))
    assert 'data-can-edit="no"' in text_of(page(alice, workflow, embed="1"))


def test_embedded_drawing_of_another_team_is_not_there(carol: Person, alice: Person):
    assert page(carol, make_workflow(alice), embed="1").status_code == 404


@pytest.mark.parametrize(
    "origin", ["*", "https://a.example; script-src *", "wiki.example.com", "https://a/b", "'self'"]
)
def test_what_is_no_origin_ends_the_start(origin: str):
    with pytest.raises(ValueError, match="not an origin"):
        Env(embed_origins=origin, _env_file=None)


def test_published_workflow_offers_every_way_to_it(alice: Person, published: Workflow, settings):
    shown = text_of(page(alice, published, published="1"))

    address = f"http://testserver/workflows/{published.pk}/"
    for words in (
        f"http://testserver/api/v1/workflows/{published.pk}/runs",
        "http://testserver/api/v1/runs/$RUN/events",
        f"&lt;iframe src=&quot;{address}?embed=1&quot;",
        f'href="/workflows/{published.pk}/?embed=1"',
        f'id="snippet-page" href="/chat/{published.pk}/">http://testserver/chat/{published.pk}/<',
        "EMBED_ORIGINS",
    ):
        assert words in shown
    copies = ("curl", "python", "javascript", "stream", "openai", "dify", "mcp", "frame", "page")
    assert [name for name in copies if f'data-copy="snippet-{name}"' not in shown] == []


def test_published_workflow_names_the_sites_that_may_frame_it(
    alice: Person, published: Workflow, settings
):
    settings.EMBED_ORIGINS = (WIKI,)

    shown = text_of(page(alice, published, published="1"))

    assert f"Allowed sites: {WIKI}" in shown
    assert "EMBED_ORIGINS" not in shown


def test_streaming_call_carries_a_body_the_api_takes(alice: Person, published: Workflow):
    shown = page(alice, published, published="1").context["snippets"]

    (stream,) = [snippet.text for snippet in shown if snippet.slug == "stream"]
    body = json.loads(stream.partition("-d '")[2].partition("'")[0])
    assert body == {"query": "Hello!", "inputs": {}, "user": "ana", "response_mode": "async"}
