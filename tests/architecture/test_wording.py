"""Pages use the standard words of the field, and one set of words for states, in English and in Chinese."""

import re
from collections.abc import Iterator

import polib
import pytest

from memory.models.jobs import JobStatus
from tests.architecture.test_translations import CHINESE
from tests.support.translatable import texts
from workflows.models.reports.data_sets import Verdict
from workflows.models.run import RunStatus, StepStatus


# A label must not be one of these. The standard label stands beside it.
REPLACED_LABELS = {
    "Went in": "Input",
    "Came out": "Output",
    "What it gives": "Output variables",
    "The run": "View run",
    "Its run": "View run",
    "What went in": "Search input",
    "For whom": "User",
    "Whose memory": "Scope",
    "At most": "Max results (Top K)",
    "Exactly this key": "Key (exact match)",
    "Only with this metadata": "Metadata filter",
    "Prefer what is newer": "Recency half-life (days)",
    "Forget after (seconds)": "Expires after",
    "Kept apart": "Separate",
    "Try memory out": "Dry run (memory)",
    "tried out": "Dry run",
    "Keep or drop": "Review changes",
    "Earlier": "History",
    "Say something": "Message",
    "Begin and end": "Start & end",
    "Nothing fits.": "No results",
    "Nothing fits": "No results",
    "Accept chosen": "Accept selected",
    "Put a frame around": "Group",
    "Switch off": "Disable",
    "Look inside": "Expand",
    "Replace the draft with a document": "Import into draft",
    "xworkflow YAML": "Mnemoflow YAML",
    "Picture (SVG)": "Image (SVG)",
    "draft only": "Draft",
    "What is new in the draft": "Draft changes",
    "What is different": "Compare versions",
    "The other way round": "Swap",
    "Make a key": "Create API key",
    "As it happens (curl)": "Streaming (curl)",
    "May": "Permissions",
    "What will it be?": "Type",
    "Open the canvas": "Create",
    "Begin here": "Start here",
    "Only write it down": "Save",
    "Write it down and execute it": "Run task",
    "Learnt": "Learned",
    "Execute again": "Run again",
    "Room and time": "Storage & retention",
    "What ends when": "Expiring",
    "About it": "Details",
    "Why (may stay empty)": "Reason (optional)",
    "Leave it": "Cancel",
    "Fits": "Relevance",
    "Where both have a memory of that name": "On conflict",
    "Check the file": "Preview import",
    "Bring in Markdown files": "Import Markdown",
    "Shared besides": "Shared with",
    "Look, and tell them": "Open and notify",
    "Into what is yours": "Access to your memory",
    "Name in workflows": "Connection name",
    "Allowed beginnings of namespaces": "Allowed prefixes",
    "Limits of memory": "Quotas",
    "Make a link": "Create invite link",
    "Make the group": "Create group",
    "The same over the API": "API equivalent",
    "Nothing waits for you": "All caught up",
    "Don't show": "Dismiss",
    "Invite somebody": "Invite a teammate",
    "Back again": "Restored",
}

# No text may contain one of these.
REPLACED_PHRASES = (
    "Instead of searching; not a template",
    "A look only",
    "it counts for no run",
    "Remember what comes from outside at once",
    "Left in the text",
    "what stands before a variable",
    "nothing is said",
    "Says something in the chat",
    "Asks a language model",
    "Makes text out of variables",
    "Calls an address on the internet",
    "Show all nodes there are",
    "Tidied up nodes",
    "was left out: the workflow has one",
    "The run is over",
    "Nothing stands in the way",
    "Programmes that call it",
    "Its drawing in a page",
    "It is yours to run",
    "look into and change",
    "a link that works once",
    "What runs, what was run",
    "Say what is to be done",
    "What is full takes nothing new",
    "would be forgotten",
    "shared with nobody besides",
    "What waits for your word",
    "still to come",
)

STATES = {
    "Queued": "排队中",
    "Running": "运行中",
    "Succeeded": "成功",
    "Failed": "失败",
    "Stopped": "已停止",
    "Paused": "已暂停",
    "Skipped": "已跳过",
}
# States that only one kind of thing has, besides the common set.
OTHER_STATES = {"Partially succeeded", "Failed (handled)", "Passed"}

TERMS = {
    "Input": "输入",
    "Output": "输出",
    "Output variables": "输出变量",
    "Scope": "作用域",
    "Knowledge": "知识库",
    "Runs": "运行记录",
    "Published": "已发布",
    "Relevance": "相关度",
    "Cancel": "取消",
    "Permissions": "权限",
}

RAW_IDENTIFIER = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-|\b(?:node|memory)_[a-z]+_[a-z0-9]{4,}\b")


@pytest.fixture(scope="module")
def messages() -> set[str]:
    return {text.msgid for text in texts()}


def list_offenders(messages: set[str]) -> Iterator[str]:
    """Return the messages that are a replaced label, contain a replaced phrase, or show an identifier."""
    for message in sorted(messages):
        bare = message.strip().rstrip(":…")
        if (
            bare in REPLACED_LABELS
            or any(phrase.lower() in message.lower() for phrase in REPLACED_PHRASES)
            or RAW_IDENTIFIER.search(message)
        ):
            yield message


def test_no_message_uses_a_replaced_word_or_a_raw_identifier(messages: set[str]):
    assert list(list_offenders(messages)) == []


@pytest.mark.parametrize(
    "planted",
    [
        "Went in",
        "Learnt:",
        "Exports what would be forgotten",
        "Nothing fits.",
        "node memory_store_etnx, key: Key is missing",
    ],
)
def test_replaced_word_is_found(planted: str):
    assert list(list_offenders({planted})) == [planted]


@pytest.mark.parametrize("statuses", [RunStatus, StepStatus, Verdict, JobStatus])
def test_states_are_one_set_of_words(statuses):
    words = {str(label) for label in statuses.labels}

    assert words <= {*STATES, *OTHER_STATES}


def test_chinese_uses_the_standard_terms():
    # A text with a context is another word: "Runs" as a number isn't the list of runs.
    entries = [entry for entry in polib.pofile(str(CHINESE)) if not entry.msgctxt]
    catalogue = {entry.msgid: entry.msgstr for entry in entries}
    expected = {**STATES, **TERMS}

    assert {word: catalogue.get(word) for word in expected} == expected
