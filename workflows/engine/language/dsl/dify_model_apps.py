"""Draws the graph of Dify's apps that have none: ``chat``, ``agent-chat`` and ``completion``.

Such an app is one model with a prompt, a form, data sets and perhaps tools. Here it becomes a start node, an LLM or an
agent, and an answer or an end node. What the graph can't express stays in the document under ``model_config``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from workflows.engine.language.document import Json, Mode
from workflows.engine.language.dsl.reading import Reader, get_text


Data = dict[str, Json]

# Modes of apps without a graph → the modes of their graphs.
MODEL_APP_MODES: Final[Mapping[str, Mode]] = {
    "chat": Mode.CHAT,
    "agent-chat": Mode.CHAT,
    "completion": Mode.WORKFLOW,
}
START, KNOWLEDGE, MODEL, END = "start", "knowledge", "llm", "answer"
GAP: Final = 320.0
FORM_TYPES: Final = frozenset({"text-input", "paragraph", "select", "number", "checkbox"})
FEATURES: Final = (
    *("opening_statement", "suggested_questions", "suggested_questions_after_answer"),
    *("speech_to_text", "text_to_speech", "retriever_resource", "sensitive_word_avoidance"),
    *("file_upload", "annotation_reply", "more_like_this"),
)
# The settings that become nodes.
_DRAWN: Final = frozenset(
    {
        *("model", "pre_prompt", "prompt_type", "chat_prompt_config", "completion_prompt_config"),
        *("user_input_form", "dataset_configs", "dataset_query_variable", "agent_mode"),
    }
)
DEFAULT_ROUNDS: Final = 5
_QUERY: Final = "{{#sys.query#}}"
_VARIABLE: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def has_no_graph(tree: Mapping[str, Json]) -> bool:
    app = tree.get("app")
    mode = get_text(app.get("mode")) if isinstance(app, Mapping) else ""
    return mode in MODEL_APP_MODES and not isinstance(tree.get("workflow"), Mapping)


def draw_graph(tree: Mapping[str, Json], reader: Reader) -> Data:
    """Return the document of an app without a graph as one with a graph, and add a warning that says so."""
    app = reader.get_mapping(tree, "app")
    name = get_text(app.get("mode"))
    settings = reader.get_mapping(tree, "model_config")
    if not settings:
        message = f"An app of mode {name} needs the section model_config"
        reader.add_error("app.model_config", message, field="model_config")
        return dict(tree)
    message = (
        f"The app of mode {name} was turned into a graph; its own settings are kept, but not used"
    )
    reader.add_warning("app.translated", message, field="app.mode")
    drawing = _Drawing(settings, is_agent=name == "agent-chat", mode=MODEL_APP_MODES[name])
    for code, text, setting in drawing.describe():
        reader.add_warning(code, text, field=f"model_config.{setting}")
    workflow = {"graph": drawing.build(), "features": drawing.build_features()}
    return {**tree, "app": {**app, "mode": MODEL_APP_MODES[name].value}, "workflow": workflow}


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Draws one app, from the settings in its ``model_config``."""

    settings: Mapping[str, Json]
    is_agent: bool
    mode: Mode

    @property
    def is_chat(self) -> bool:
        return self.mode is Mode.CHAT

    def build(self) -> Data:
        data = [(START, self._build_start())]
        if self._dataset_ids:
            data.append((KNOWLEDGE, self._build_knowledge()))
        data.append((MODEL, self._build_agent() if self.is_agent else self._build_llm()))
        data.append((END, self._build_end()))
        nodes = [
            {"id": id_, "position": {"x": 30.0 + GAP * index, "y": 200.0}, "data": node}
            for index, (id_, node) in enumerate(data)
        ]
        ids = [id_ for id_, _node in data]
        edges = [
            {"id": f"{source}-{target}", "source": source, "target": target}
            for source, target in pairwise(ids)
        ]
        return {"nodes": nodes, "edges": edges}

    def describe(self) -> Iterator[tuple[str, str, str]]:
        """Yield what became of the settings: a code, a sentence and the name of the setting."""
        fields = ", ".join(str(field["variable"]) for _kind, field in self._iter_fields())
        tools = ", ".join(get_text(tool.get("tool_name")) for tool in self._iter_tools())
        if fields:
            text = f"The fields of the form are inputs of the node Start: {fields[:300]}"
            yield "app.form", text, "user_input_form"
        node = "Agent" if self.is_agent else "LLM"
        yield "app.prompt", f"The prompt and the model are in the node {node}", "pre_prompt"
        if self._dataset_ids:
            text = "The node Knowledge retrieval searches the data sets"
            yield "app.data_sets", text, "dataset_configs"
        if tools:
            yield "app.tools", f"The node Agent has the tools: {tools[:300]}", "agent_mode"
        read = {*_DRAWN, *FEATURES}
        unused = [
            name
            for name, value in self.settings.items()
            if name not in read and (value.get("enabled") if isinstance(value, Mapping) else value)
        ]
        for name in sorted(unused):
            text = f"The setting {name[:100]} became no node; it is kept, but has no effect"
            yield "app.unused", text, name

    def build_features(self) -> Data:
        return {name: self.settings[name] for name in FEATURES if self.settings.get(name)}

    # -- nodes ------------------------------------------------------------------------------------

    def _build_start(self) -> Data:
        variables = [{"type": kind, **field} for kind, field in self._iter_fields()]
        return {"type": "start", "title": "Start", "variables": variables}

    def _build_knowledge(self) -> Data:
        config = _get_mapping(self.settings, "dataset_configs")
        data: Data = {
            "type": "knowledge-retrieval",
            "title": "Knowledge retrieval",
            "query_variable_selector": self._choose_query(),
            "dataset_ids": self._dataset_ids,
            "retrieval_mode": get_text(config.get("retrieval_model"), "multiple"),
        }
        names = ("top_k", "reranking_enable", "reranking_mode", "weights")
        retrieval = {name: config[name] for name in names if config.get(name) is not None}
        if config.get("score_threshold_enabled"):
            retrieval["score_threshold"] = config.get("score_threshold")
        reranking = _get_mapping(config, "reranking_model")
        if reranking:
            retrieval["reranking_model"] = {
                "provider": reranking.get("reranking_provider_name", ""),
                "model": reranking.get("reranking_model_name", ""),
            }
        return {**data, "multiple_retrieval_config": retrieval}

    def _build_llm(self) -> Data:
        data: Data = {
            "type": "llm",
            "title": "LLM",
            "model": {**_get_mapping(self.settings, "model"), "mode": "chat"},
            "prompt_template": self._build_prompt(),
            "context": {
                "enabled": bool(self._dataset_ids),
                "variable_selector": [KNOWLEDGE, "result"] if self._dataset_ids else [],
            },
            "vision": self._build_vision(),
        }
        if self.is_chat:
            data["memory"] = {"window": {"enabled": False, "size": 50}}
        return data

    def _build_agent(self) -> Data:
        agent, model = (
            _get_mapping(self.settings, "agent_mode"),
            _get_mapping(self.settings, "model"),
        )
        is_react = get_text(agent.get("strategy")) in ("react", "router")
        instruction = self._translate(self._get_text("pre_prompt"))
        if self._dataset_ids:
            instruction = f"{instruction}\n\nKnowledge:\n{{{{#{KNOWLEDGE}.result#}}}}".strip()
        values: Data = {
            "model": {**model, "model": get_text(model.get("name"))},
            "instruction": instruction,
            "query": _QUERY,
            "maximum_iterations": agent.get("max_iteration") or DEFAULT_ROUNDS,
            "tools": [self._translate_tool(tool) for tool in self._iter_tools()],
        }
        return {
            "type": "agent",
            "title": "Agent",
            "agent_strategy_provider_name": "langgenius/agent/agent",
            "agent_strategy_name": "ReAct" if is_react else "function_calling",
            "agent_strategy_label": "ReAct" if is_react else "FunctionCalling",
            "agent_parameters": {
                name: {"type": "constant", "value": value} for name, value in values.items()
            },
            "memory": {"window": {"enabled": False, "size": 50}},
            "vision": self._build_vision(),
        }

    def _build_end(self) -> Data:
        if self.is_chat:
            return {"type": "answer", "title": "Answer", "answer": f"{{{{#{MODEL}.text#}}}}"}
        output = {"variable": "text", "value_selector": [MODEL, "text"], "value_type": "string"}
        return {"type": "end", "title": "End", "outputs": [output]}

    # -- prompts ----------------------------------------------------------------------------------

    def _build_prompt(self) -> list[Data]:
        if get_text(self.settings.get("prompt_type")) == "advanced":
            messages = [*self._iter_advanced_messages()]
        else:
            messages = [*self._iter_simple_messages()]
        if self.is_chat and not any(_QUERY in message["text"] for message in messages):
            messages.append({"role": "user", "text": _QUERY})
        return messages

    def _iter_simple_messages(self) -> Iterator[Data]:
        text = self._translate(self._get_text("pre_prompt"))
        if self._dataset_ids and "{{#context#}}" not in text:
            text = f"Knowledge:\n{{{{#context#}}}}\n\n{text}".strip()
        if self.is_chat:
            yield from [{"role": "system", "text": text}] if text else []
        else:
            yield {"role": "user", "text": text or self._reference_query()}

    def _iter_advanced_messages(self) -> Iterator[Data]:
        chat = _get_mapping(self.settings, "chat_prompt_config").get("prompt")
        for message in chat if isinstance(chat, list) else ():
            if isinstance(message, Mapping) and get_text(message.get("text")):
                role = get_text(message.get("role"), "user")
                yield {"role": role, "text": self._translate(message["text"])}
        if chat:
            return
        completion = _get_mapping(self.settings, "completion_prompt_config").get("prompt")
        text = get_text(completion.get("text")) if isinstance(completion, Mapping) else ""
        yield {"role": "user", "text": self._translate(text)}

    def _translate(self, text: str) -> str:
        """Return a prompt with this engine's references instead of the names of fields."""
        names = {field["variable"] for _kind, field in self._iter_fields()}
        text = text.replace("{{#histories#}}", "").replace("{{#query#}}", self._reference_query())
        return _VARIABLE.sub(
            lambda match: f"{{{{#{START}.{match[1]}#}}}}" if match[1] in names else match[0], text
        )

    def _build_vision(self) -> Data:
        image = _get_mapping(_get_mapping(self.settings, "file_upload"), "image")
        if not image.get("enabled"):
            return {"enabled": False}
        detail = get_text(image.get("detail"), "high")
        configs = {"detail": detail, "variable_selector": ["sys", "files"]}
        return {"enabled": True, "configs": configs}

    # -- parts of the settings --------------------------------------------------------------------

    def _get_text(self, name: str) -> str:
        return get_text(self.settings.get(name))

    def _choose_query(self) -> list[str]:
        """Return the variable that is searched for in the data sets."""
        if self.is_chat:
            return ["sys", "query"]
        names = [field["variable"] for _kind, field in self._iter_fields()]
        declared = self._get_text("dataset_query_variable")
        return [START, declared or ("query" if "query" in names or not names else names[0])]

    def _reference_query(self) -> str:
        return f"{{{{#{'.'.join(('sys', 'query') if self.is_chat else self._choose_query())}#}}}}"

    def _iter_fields(self) -> Iterator[tuple[str, Data]]:
        """Yield the type and the settings of each field of the form. A field of another type is one for text."""
        form = self.settings.get("user_input_form")
        for item in form if isinstance(form, list) else ():
            for kind, field in item.items() if isinstance(item, Mapping) else ():
                if isinstance(field, Mapping) and get_text(field.get("variable")):
                    yield (kind if kind in FORM_TYPES else "paragraph"), dict(field)

    def _iter_tools(self) -> Iterator[Mapping[str, Json]]:
        return _iter_tools(_get_mapping(self.settings, "agent_mode")) if self.is_agent else iter(())

    @property
    def _dataset_ids(self) -> list[str]:
        """Return the data sets of the app, and those that an agent has as tools."""
        datasets = _get_mapping(_get_mapping(self.settings, "dataset_configs"), "datasets")
        listed = datasets.get("datasets")
        tools = _get_mapping(self.settings, "agent_mode").get("tools")
        entries = [
            entry.get("dataset")
            for entries in (listed, tools)
            for entry in (entries if isinstance(entries, list) else ())
            if isinstance(entry, Mapping)
        ]
        ids = [
            get_text(dataset.get("id"))
            for dataset in entries
            if isinstance(dataset, Mapping) and dataset.get("enabled") is not False
        ]
        return [*dict.fromkeys(filter(None, ids))]

    def _translate_tool(self, tool: Mapping[str, Json]) -> Data:
        """Return a tool of an app as a tool of an agent node. A parameter without a value is left to the model."""
        values = _get_mapping(tool, "tool_parameters")
        parameters = {
            name: {"auto": 0, "value": value} if value not in (None, "") else {"auto": 1}
            for name, value in values.items()
        }
        return {
            "enabled": tool.get("enabled") is not False,
            "type": get_text(tool.get("provider_type"), "builtin"),
            "provider_name": get_text(tool.get("provider_name"))
            or get_text(tool.get("provider_id")),
            "tool_name": get_text(tool.get("tool_name")),
            "tool_label": get_text(tool.get("tool_label")),
            "parameters": parameters,
            "settings": {},
        }


def _iter_tools(agent: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    tools = agent.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, Mapping) and get_text(tool.get("tool_name")):
            yield tool


def _get_mapping(tree: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = tree.get(key)
    return value if isinstance(value, Mapping) else {}
