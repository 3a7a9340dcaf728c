"""Dify's apps without a graph are read as a graph that does the same, and come back as they were read."""

from typing import Any

import pytest

from workflows.engine.errors import DocumentInvalid
from workflows.engine.files.rules import read_message_rules
from workflows.engine.language.document import Document, Mode
from workflows.engine.language.dsl import dump_document, load_document
from workflows.engine.language.plan import compile_plan
from workflows.engine.language.validation import validate
from workflows.engine.nodes import build_kinds


KINDS = build_kinds()
FORM = [
    {"paragraph": {"label": "Topic", "variable": "topic", "required": True, "default": ""}},
    {"select": {"label": "Tone", "variable": "tone", "options": ["dry", "warm"]}},
]
DATASETS = {
    "datasets": {"datasets": [{"dataset": {"enabled": True, "id": "d1"}}]},
    "retrieval_model": "multiple",
    "top_k": 4,
    "score_threshold_enabled": True,
    "score_threshold": 0.4,
    "reranking_model": {"reranking_provider_name": "jina", "reranking_model_name": "rerank"},
}
SETTINGS: dict[str, Any] = {
    "model": {"provider": "openai", "name": "gpt-4o", "mode": "chat", "completion_params": {}},
    "pre_prompt": "Talk about {{topic}} in a {{ tone }} way, {{unknown}}.",
    "prompt_type": "simple",
    "user_input_form": FORM,
    "opening_statement": "Hello",
    "suggested_questions": ["Why?"],
    "speech_to_text": {"enabled": True},
    "text_to_speech": {"enabled": False},
    "agent_mode": {"enabled": False, "tools": []},
}


def build_app(mode: str, **settings: Any) -> dict[str, Any]:
    return {
        "version": "0.1.5",
        "kind": "app",
        "app": {"name": "App", "mode": mode, "icon": "x"},
        "model_config": {**SETTINGS, **settings},
    }


def read(mode: str, **settings: Any) -> Document:
    return load_document(build_app(mode, **settings)).document


def get_data(document: Document, id_: str) -> Any:
    return next(node.data for node in document.nodes if node.id == id_)


def list_kinds(document: Document) -> list[str]:
    return [node.kind for node in document.nodes]


@pytest.mark.parametrize("mode", ["chat", "agent-chat", "completion"])
@pytest.mark.parametrize("settings", [{}, {"dataset_configs": DATASETS}], ids=["", "datasets"])
def test_app_is_valid_runs_and_is_written_and_read_the_same(mode: str, settings: Any):
    document = read(mode, **settings)

    again = load_document(dump_document(document, include_secrets=True)).document

    assert again == document
    assert not [problem for problem in validate(document, KINDS) if problem.is_error]
    compile_plan(document, KINDS)
    assert document.extra["model_config"] == {**SETTINGS, **settings}


def test_chat_is_a_prompt_with_the_message_and_the_earlier_turns():
    document = read("chat")

    assert document.mode is Mode.CHAT
    assert list_kinds(document) == ["start", "llm", "answer"]
    llm = get_data(document, "llm")
    assert llm["model"] == {**SETTINGS["model"], "mode": "chat"}
    assert llm["prompt_template"] == [
        {
            "role": "system",
            "text": "Talk about {{#start.topic#}} in a {{#start.tone#}} way, {{unknown}}.",
        },
        {"role": "user", "text": "{{#sys.query#}}"},
    ]
    assert llm["memory"]["window"]["enabled"] is False  # all turns, not only the last ones
    assert [field["variable"] for field in get_data(document, "start")["variables"]] == [
        "topic",
        "tone",
    ]
    assert get_data(document, "answer")["answer"] == "{{#llm.text#}}"
    assert document.features["opening_statement"] == "Hello"


def test_completion_asks_once_and_ends_with_the_text():
    document = read("completion")

    assert document.mode is Mode.WORKFLOW
    assert list_kinds(document) == ["start", "llm", "end"]
    llm = get_data(document, "llm")
    assert [message["role"] for message in llm["prompt_template"]] == ["user"]
    assert "memory" not in llm


def test_data_sets_become_a_retrieval_before_the_model():
    document = read("completion", dataset_configs=DATASETS, dataset_query_variable="topic")

    assert list_kinds(document) == ["start", "knowledge-retrieval", "llm", "end"]
    assert get_data(document, "knowledge") == {
        "type": "knowledge-retrieval",
        "title": "Knowledge retrieval",
        "query_variable_selector": ["start", "topic"],
        "dataset_ids": ["d1"],
        "retrieval_mode": "multiple",
        "multiple_retrieval_config": {
            "top_k": 4,
            "score_threshold": 0.4,
            "reranking_model": {"provider": "jina", "model": "rerank"},
        },
    }
    llm = get_data(document, "llm")
    assert llm["context"] == {"enabled": True, "variable_selector": ["knowledge", "result"]}
    assert "{{#context#}}" in llm["prompt_template"][0]["text"]


def test_agent_has_the_tools_of_the_app():
    tool = {
        "enabled": True,
        "provider_id": "time",
        "provider_name": "time",
        "provider_type": "builtin",
        "tool_name": "current_time",
        "tool_label": "Now",
        "tool_parameters": {"timezone": "UTC", "format": ""},
    }
    agent = {"enabled": True, "strategy": "react", "max_iteration": 7, "tools": [tool]}

    document = read("agent-chat", agent_mode=agent)

    assert list_kinds(document) == ["start", "agent", "answer"]
    data = get_data(document, "llm")
    parameters = {name: value["value"] for name, value in data["agent_parameters"].items()}
    assert data["agent_strategy_name"] == "ReAct"
    assert parameters["maximum_iterations"] == 7
    assert parameters["query"] == "{{#sys.query#}}"
    assert parameters["tools"][0]["tool_name"] == "current_time"
    assert parameters["tools"][0]["parameters"] == {
        "timezone": {"auto": 0, "value": "UTC"},
        "format": {"auto": 1},
    }


@pytest.mark.parametrize("mode", ["chat", "agent-chat"])
def test_images_of_the_app_reach_its_model(mode: str):
    image = {
        "enabled": True,
        "number_limits": 2,
        "detail": "low",
        "transfer_methods": ["local_file"],
    }
    agent = {"enabled": mode == "agent-chat", "strategy": "function_call", "tools": []}

    document = read(mode, file_upload={"image": image}, agent_mode=agent)

    configs = {"detail": "low", "variable_selector": ["sys", "files"]}
    assert get_data(document, "llm")["vision"] == {"enabled": True, "configs": configs}
    rules = read_message_rules(document.features)
    assert rules is not None
    assert (rules.types, rules.max_count) == (("image",), 2)


def test_advanced_prompts_keep_their_messages():
    prompt = [
        {"role": "system", "text": "About {{topic}}: {{#context#}}"},
        {"role": "user", "text": "Say: {{#query#}}"},
    ]

    llm = get_data(
        read("chat", prompt_type="advanced", chat_prompt_config={"prompt": prompt}), "llm"
    )

    assert llm["prompt_template"] == [
        {"role": "system", "text": "About {{#start.topic#}}: {{#context#}}"},
        {"role": "user", "text": "Say: {{#sys.query#}}"},
    ]


def test_translation_and_features_that_are_not_offered_are_named():
    loaded = load_document(build_app("chat"))

    codes = [problem.code for problem in loaded.warnings]
    problems = validate(loaded.document, KINDS)
    features = [problem.field for problem in problems if problem.code == "feature.not_offered"]
    assert "app.translated" in codes
    assert features == ["features.speech_to_text"]


def test_app_without_its_settings_is_refused_with_a_sentence():
    app = build_app("chat")
    del app["model_config"]

    with pytest.raises(DocumentInvalid, match="needs the section model_config"):
        load_document(app)
