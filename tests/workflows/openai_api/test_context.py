"""Who a request is for, and who keeps its conversation: from its body first, then from its headers."""

from typing import Any

import pytest
from django.test import RequestFactory

from accounts.models import HistoryKeeper
from workflows.openai_api.completions import FORWARDED_TASK, TASK_PROMPTS, CallContext, read_context
from workflows.openai_api.errors import CompletionError
from workflows.openai_api.messages import read_messages
from workflows.openai_api.schemas import CompletionIn, MessageIn


FORWARDED = {"X-OpenWebUI-User-Id": "web-ana", "X-OpenWebUI-Chat-Id": "web-chat"}


def read(
    headers: dict[str, str],
    text: str = "Hello?",
    keeper: HistoryKeeper = HistoryKeeper.REQUEST,
    **fields: Any,
) -> CallContext:
    messages = [MessageIn(role="user", content=text)]
    request = RequestFactory().post("/", headers=headers)
    body = CompletionIn(model="any", messages=messages, **fields)
    return read_context(request, body, read_messages(messages), keeper)


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
        # A title for the chat is no turn of it, and neither is an emoji or what a header names a task.
        *(({"text": f"{prompt}\nGo on."}, ("web-ana", None)) for prompt in TASK_PROMPTS),
        ({"headers": {**FORWARDED, FORWARDED_TASK: "title_generation"}}, ("web-ana", None)),
        ({"headers": {**FORWARDED, FORWARDED_TASK: ""}}, ("web-ana", "web-chat")),
        # Nothing of a temporary chat is stored.
        ({"headers": {**FORWARDED, "X-OpenWebUI-Chat-Id": "local:1"}}, ("web-ana", None)),
    ],
)
def test_headers_of_open_webui_name_what_the_body_does_not(
    settings: Any, changes: Any, expected: Any
):
    settings.OPENAI_FORWARDED_HEADERS = True

    context = read(**{"headers": FORWARDED, **changes})

    assert (context.user, context.conversation) == expected


NAMED = {"X-Conversation-Id": "talk-7"}


def test_key_lets_the_program_keep_the_conversation_whatever_the_request_names():
    context = read(NAMED, keeper=HistoryKeeper.CLIENT, metadata={"conversation_id": "talk-8"})

    assert context.conversation is None
    assert context.left_out == {"user", "conversation"}


def test_key_lets_the_server_keep_the_conversation_and_needs_its_id(settings: Any):
    assert read(NAMED, keeper=HistoryKeeper.SERVER).conversation == "talk-7"
    with pytest.raises(CompletionError) as refused:
        read({}, keeper=HistoryKeeper.SERVER)

    assert (refused.value.status, refused.value.param) == (400, "metadata.conversation_id")
    settings.OPENAI_FORWARDED_HEADERS = True
    title = f"{TASK_PROMPTS[0]}\nGenerate a title."
    assert read(FORWARDED, title, HistoryKeeper.SERVER).conversation is None
