"""Errors of runs are shown in the language of the reader."""

import re

import pytest
from django.utils import translation
from django.utils.translation import gettext

from tests.support.cases import for_each
from workflows.engine.errors import ModelNeeded, VariableNotFound
from workflows.engine.foreign_kinds.placeholders import Placeholder
from workflows.engine.language.document import NodeSpec
from workflows.execution.events.stream_events import StreamEvent
from workflows.execution.recovery import CRASHED
from workflows.llm import failure_messages
from workflows.templatetags.run_errors import ERRORS, translate_error
from workflows.views.runs.events import translate_event


CHINESE = re.compile(r"[\u4e00-\u9fff]")


@for_each(
    "message, expected",
    [
        (
            "ollama is not responding at its base URL. Is it running?",
            "ollama 在其 API 地址没有响应。它在运行吗？",
        ),
        (
            "ollama isn't responding at http://127.0.0.1:11434/v1. Is it running?",
            "ollama 在 http://127.0.0.1:11434/v1 没有响应。它在运行吗？",
        ),
        (
            "Can't resolve api.openai.com. Check your connection.",
            "无法解析 api.openai.com。请检查你的网络连接。",
        ),
        (failure_messages.TOO_LONG.format(model="tiny"), "提示词超过了模型 'tiny' 的长度限制。"),
        (ModelNeeded().message, "此任务需要语言模型。请在“模型”页面连接一个模型。"),
        (VariableNotFound(["start", "text"]).message, "未找到变量 start.text"),
        (
            CRASHED,
            "执行此运行的相同步骤时，工作进程连续崩溃了三次，最后一次是在不执行其他任务的进程中，因此运行已中止。其中某个步骤可能占用了超出可用的内存，或使进程崩溃。",
        ),
        ("The worker was lost before this step finished.", "工作进程在此步骤完成之前丢失。"),
        ("Something that nobody foresaw", "Something that nobody foresaw"),
        ("", ""),
    ],
)
def test_error_is_translated_when_it_is_shown(message: str, expected: str) -> None:
    with translation.override("zh-hans"):
        assert translate_error(message) == expected
    with translation.override("en"):
        assert translate_error(message) == message


def test_stream_of_a_page_has_errors_in_the_language_of_the_reader() -> None:
    error = "ollama took too long to respond."
    event = StreamEvent("run_finished", {"status": "failed", "error": error}, 3)
    text = StreamEvent("text_chunk", {"text": error})

    assert translate_event("zh-hans", event).data["error"] == "ollama 响应时间过长。"
    assert translate_event("en", event) == event
    assert translate_event("zh-hans", text) is text


def test_every_failure_of_a_provider_is_known() -> None:
    messages = [text for text, _retryable in failure_messages.BY_STATUS.values()] + [
        text
        for name, text in vars(failure_messages).items()
        if name.isupper() and isinstance(text, str) and " " in text
    ]

    with translation.override("zh-hans"):
        unknown = [
            message
            for message in messages
            if not CHINESE.search(translate_error(message.replace("{model!r}", "'m'")))
        ]

    assert unknown == []


def test_every_sentence_has_a_translation() -> None:
    with translation.override("zh-hans"):
        assert [text for text in ERRORS if not CHINESE.search(gettext(text))] == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            {"plugin_id": "acme/mail"},
            "“Sort”无法运行：此安装没有插件 acme/mail 的节点类型 mail-sorter。",
        ),
        (
            {"provider_name": "acme"},
            "“Sort”无法运行：此安装没有提供方 acme 的节点类型 mail-sorter。",
        ),
        ({}, "“Sort”无法运行：此安装没有节点类型 mail-sorter。"),
    ],
)
def test_run_that_fails_at_a_missing_type_names_the_node_and_what_to_do(data, expected):
    spec = NodeSpec("x", "mail-sorter", data, title="Sort")
    message = Placeholder("mail-sorter", {}).prepare(spec)

    with translation.override("zh-hans"):
        shown = translate_error(message)

    assert shown.startswith(expected)
    assert "请替换该节点" in shown
