"""The words of the import report: what features and settings of other products are, and what it means to lack them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from workflows.engine.import_report.report import Finding, Need
from workflows.templatetags.kind_words import get_kind_title


Text = str | Promise


@dataclass(frozen=True, slots=True)
class SettingWords:
    """The words about a setting: its name, and a sentence about what the workflow does without it."""

    name: Text
    sentence: Text


HEADINGS: Final[Mapping[Need, Text]] = {
    Need.MODEL: _("Models"),
    Need.TOOL: _("Tools"),
    Need.DATA_SET: _("Knowledge bases"),
    Need.NODE_TYPE: _("Node types"),
    Need.PLUGIN: _("Plug-ins"),
    Need.MODULE: _("Python modules"),
    Need.LANGUAGE: _("Code languages"),
    Need.FEATURE: _("Features and settings"),
}
# What it means that something of a section is missing.
HINTS: Final[Mapping[Need, Text]] = {
    Need.MODEL: _("Your team has not connected all of these. Choose a model of your team instead."),
    Need.TOOL: _(
        "A run fails when it reaches a node with a missing tool; only an agent goes on without it. Choose a tool of your team instead, for all its nodes at once."
    ),
    Need.DATA_SET: _(
        "These belong to the installation that the document comes from. Choose a knowledge base of your team for each. Until then, the nodes search the pages of this workflow."
    ),
    Need.NODE_TYPE: _(
        "These nodes are kept as placeholders. A run fails when it reaches one. Replace all of a type here or each in the editor, which shows before what is lost; or pin its output."
    ),
    Need.MODULE: _("A code node that imports a missing module fails. Rewrite its code without it."),
    Need.LANGUAGE: _("Code in a missing language is kept, but a run fails when it reaches it."),
}

_EMBEDDING = SettingWords(
    _("Embedding model"),
    _("Searching by meaning uses the embedding model of this installation instead, if it is on."),
)
_RERANKING = SettingWords(
    _("Reranking model"),
    _("Search results are not ordered again by this model. They are ordered by words and meaning."),
)
_SEARCH = "knowledge-retrieval.multiple_retrieval_config"
# Features of an application, and settings of nodes as ``kind.path``. A ``*`` stands for any text.
WORDS: Final[Mapping[str, SettingWords]] = {
    "vision": SettingWords(
        _("Images in prompts"),
        _("The model that answers can't see images. It is given the text of the prompt only."),
    ),
    "reranking_model": _RERANKING,
    f"{_SEARCH}.rerank*": _RERANKING,
    f"{_SEARCH}.weights.vector_setting.embedding_*": _EMBEDDING,
    f"{_SEARCH}.*": SettingWords(
        _("Search setting"), _("The search of the knowledge bases works without it.")
    ),
    "file_upload": SettingWords(_("File upload"), _("No files can be attached to messages.")),
    "speech_to_text": SettingWords(
        _("Speech to text"), _("Spoken messages are not turned into text.")
    ),
    "text_to_speech": SettingWords(_("Text to speech"), _("Answers are not read out.")),
    "sensitive_word_avoidance": SettingWords(
        _("Content moderation"), _("Messages and answers are not checked for forbidden words.")
    ),
    "retriever_resource": SettingWords(_("Citations"), _("Answers don't show their sources.")),
    "annotation_reply": SettingWords(
        _("Annotated replies"), _("Answers are never taken from annotations.")
    ),
    "more_like_this": SettingWords(
        _("More like this"), _("No further versions of an answer are offered.")
    ),
    "knowledge-retrieval.retrieval_model": SettingWords(
        _("Search method"), _("The search goes by words and by meaning, as set in the node.")
    ),
    "knowledge-retrieval.query_attachment_selector": SettingWords(
        _("Search by image"), _("Only the text of the question is searched for.")
    ),
    "agent.agent_parameters.servers_config": SettingWords(
        _("MCP servers"),
        _(
            "The agent doesn't connect to these servers. Connect them on the page Tools, then add their tools to the agent."
        ),
    ),
    "agent.agent_parameters.*": SettingWords(
        _("Setting of the agent strategy"), _("Agents work without it here.")
    ),
    "*.completion_params.model_name": SettingWords(
        _("Model name among the parameters"),
        _("It is not sent. The model that the node names counts."),
    ),
    "*.completion_params.format": SettingWords(
        _("Answer format"),
        _("It is not sent to the model. Turn on structured output in the node instead."),
    ),
    "*.completion_params.response_format": SettingWords(
        _("Answer format"),
        _("It is not sent to the model. Turn on structured output in the node instead."),
    ),
    "*.completion_params.*": SettingWords(
        _("Model parameter"), _("It is not sent to the model, which uses its default.")
    ),
    "tool.arguments.*": SettingWords(
        _("Argument of the tool"), _("The built-in tool works without it.")
    ),
    "code.dependencies": SettingWords(
        _("Packages of the code"),
        _("Nothing is installed. The code can import what this installation offers."),
    ),
    "workflow.rag_pipeline_variables": SettingWords(
        _("Variables of a knowledge pipeline"), _("Knowledge pipelines are not run here.")
    ),
}
_UNKNOWN: Final = _("Nothing here reads this setting. The document keeps it.")
_PATTERNS: Final = tuple(
    (re.compile(re.escape(key).replace(r"\*", ".*")), key, words) for key, words in WORDS.items()
)


@dataclass(frozen=True, slots=True)
class SettingText:
    """A setting for people. ``key`` is how the document calls it, where that says more than the name."""

    name: str
    sentence: str
    key: str = ""
    value: str = ""


def describe_setting(finding: Finding) -> SettingText:
    """Return the name of a feature or setting, and what it means to lack it."""
    kind, _dot, path = finding.name.partition(".")
    value = "" if finding.detail.startswith(("{", "[")) else finding.detail
    for pattern, key, words in _PATTERNS:
        if pattern.fullmatch(finding.name):
            # One of many settings with the same words is told apart by its last key.
            last = finding.name.rpartition(".")[2] if key.endswith(".*") else ""
            value = "" if finding.name == "vision" else value
            return SettingText(str(words.name), str(words.sentence), last, value)
    title = get_kind_title(kind) if path else ""
    return SettingText(title, str(_UNKNOWN), path or kind, value)
