"""Who a request is for, and who keeps its conversation: from its body first, then from its headers."""

from typing import Any

import pytest
from django.test import RequestFactory

from workflows.openai_api.completions import FORWARDED_TASK, CallContext, read_context
from workflows.openai_api.messages import read_messages
from workflows.openai_api.schemas import CompletionIn, MessageIn


FORWARDED = {"X-OpenWebUI-User-Id": "web-ana", "X-OpenWebUI-Chat-Id": "web-chat"}


def read(headers: dict[str, str], text: str = "Hello?", **fields: Any) -> CallContext:
    messages = [MessageIn(role="user", content=text)]
    request = RequestFactory().post("/", headers=headers)
    body = CompletionIn(model="any", messages=messages, **fields)
    return read_context(request, body, read_messages(messages))


def test_headers_of_open_webui_count_only_if_a_setting_says_so():
    context = read(FORWARDED)

    assert (context.user, context.conversation) == (None, None)
    assert context.left_out == {"user", "conversation"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("web-ana", "web-chat")),
        ({"user": "ana"}, ("ana", "web-chat")),
        ({"metadata": {"conversation_id": "mine"}}, ("web-ana", "mine")),
        # A title for the chat is no turn of it.
        ({"text": f"{FORWARDED_TASK}\nGenerate a title."}, ("web-ana", None)),
    ],
)
def test_headers_of_open_webui_name_what_the_body_does_not(
    settings: Any, changes: Any, expected: Any
):
    settings.OPENAI_FORWARDED_HEADERS = True

    context = read(FORWARDED, **changes)

    assert (context.user, context.conversation) == expected
