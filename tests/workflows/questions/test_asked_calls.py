"""What the page of open questions shows of a call that a person has to allow."""

import pytest
from django.urls import reverse

from tests.support.cast import Cast
from tests.workflows.test_waits import ask
from workflows.engine.nodes.agent.tool_use.approval import AskedCall, build_form
from workflows.engine.runtime.waits import (
    CONNECTION_CHANGED,
    FORGETS_FOR_OUTSIDE,
    TAKES_MEMORY_OUTSIDE,
)


pytestmark = pytest.mark.django_db


def test_approval_shows_tool_and_arguments_as_text(cast: Cast) -> None:
    form = {
        "type": "approval",
        "content": "May the agent do this?",
        "tool": "<b>mail</b>",
        "arguments": {"to": "<script>alert(1)</script>"},
        "inputs": [],
        "actions": [{"id": "allow", "title": "Allow"}, {"id": "refuse", "title": "Refuse"}],
    }
    ask(cast.alice, form)

    page = cast.alice.client.get(reverse("workflows:waiting")).content.decode()

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;b&gt;mail&lt;/b&gt;" in page
    assert "<script>alert" not in page
    assert "Your permission is needed" in page
    assert "May the agent do this?" not in page  # the facts say it already


def test_approval_says_through_which_connection_the_call_goes(cast: Cast) -> None:
    """Two connections may have a tool of the same name, and only one of them moves real money."""
    ask(cast.alice, build_form(AskedCall("pay", {"amount": 3}, connection="bank-for-real")))

    page = cast.alice.client.get(reverse("workflows:waiting")).content.decode()

    assert "bank-for-real" in page


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (FORGETS_FOR_OUTSIDE, "may have asked for this."),
        (TAKES_MEMORY_OUTSIDE, "may have asked the agent to send them."),
        (CONNECTION_CHANGED, "The connection of this tool was changed or enabled after that."),
    ],
)
def test_approval_says_why_somebody_is_asked_whom_the_author_did_not_name(
    cast: Cast, cause: str, sentence: str
) -> None:
    ask(cast.alice, build_form(AskedCall("pay", {"amount": 3}, cause=cause)))

    page = cast.alice.client.get(reverse("workflows:waiting")).content.decode()

    assert sentence in page


def test_approval_shows_the_memories_that_would_be_forgotten_as_text(cast: Cast) -> None:
    memories = [
        {"key": "door", "value": "The code is 1234\u200b"},
        {"key": "hours", "value": {"opens": "nine"}},
    ]
    call = AskedCall("forget", {"scope": "user", "memories": memories}, cause=FORGETS_FOR_OUTSIDE)
    ask(cast.alice, build_form(call))

    page = cast.alice.client.get(reverse("workflows:waiting")).content.decode()

    assert '<li class="recollection-value">The code is 1234\\u200b</li>' in page
    assert "&quot;opens&quot;: &quot;nine&quot;" in page
    assert "&quot;scope&quot;: &quot;user&quot;" in page
    assert "&quot;memories&quot;" not in page


@pytest.mark.parametrize("memories", ["all", ["door"], [{"value": "x", "more": "y"}]])
def test_arguments_that_only_look_like_memories_are_shown_whole(
    cast: Cast, memories: object
) -> None:
    call = AskedCall("forget", {"memories": memories}, cause=FORGETS_FOR_OUTSIDE)
    ask(cast.alice, build_form(call))

    page = cast.alice.client.get(reverse("workflows:waiting")).content.decode()

    assert "&quot;memories&quot;" in page


def test_approval_shows_all_of_the_arguments(cast: Cast) -> None:
    """What comes late in a long call, and what can't be seen, is sent, too."""
    arguments = {"memo": "Lunch. " + " " * 90_000, "to_account": "evil\u202e\u200b"}
    ask(cast.alice, build_form(AskedCall("pay", arguments)))

    page = cast.alice.client.get(reverse("workflows:waiting")).content.decode()

    assert "evil\\u202e\\u200b" in page
