"""Warns of prompts that put the text of memories into a system message, where a model takes it for an instruction.

The engine quotes that text as data, so the draft has no problem; the person who publishes it is told once.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from workflows.engine.kinds import AnyKind
from workflows.engine.language.content_marks.untrusted import ContentFlow, is_recalled
from workflows.engine.language.document import Document, Selector
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.templating import list_references


CODE = "memory.in_system"
_CONTEXT_MARK = "{{#context#}}"


def find_recalled_prompt_problems(
    document: Document, kinds: Mapping[str, AnyKind]
) -> Iterator[Problem]:
    """Yield a warning for each system message with memories in it. The document has been validated."""
    recalled = ContentFlow(document.nodes, kinds).recalled
    for node in document.nodes if recalled else ():
        if node.kind not in kinds:
            continue
        for field, selectors in _list_system_texts(node.data):
            for selector in selectors:
                if is_recalled(selector, recalled):
                    name = ".".join(selector)
                    message = f"{name} has the text of memories, which is quoted in a system message; a user message is safer"
                    yield build_warning(CODE, message, node=node.id, field=field)
                    break


def _list_system_texts(data: Mapping[str, Any]) -> Iterator[tuple[str, list[Selector]]]:
    """Yield the field of each system message of a node, and the variables in it."""
    messages = data.get("prompt_template")
    for number, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, Mapping) and message.get("role") == "system":
            yield f"prompt_template.{number}.text", _list_variables(data, message)
    instruction = data.get("instruction")
    if isinstance(instruction, str):
        is_jinja = data.get("instruction_format") == "jinja2"
        message = {"text": instruction, "edition_type": "jinja2" if is_jinja else "basic"}
        yield "instruction", _list_variables(data, message)


def _list_variables(data: Mapping[str, Any], message: Mapping[str, Any]) -> list[Selector]:
    text = f"{message.get('text') or ''}"
    context = _get_mapping(data.get("context"))
    selectors: list[Selector] = []
    if message.get("edition_type") == "jinja2":
        variables = _get_mapping(data.get("prompt_config")).get("jinja2_variables")
        for variable in variables if isinstance(variables, list) else ():
            selectors += _get_selectors(_get_mapping(variable).get("value_selector"))
        text = f"{message.get('jinja2_text') or text}"
    else:
        selectors += list_references(text)
    if _CONTEXT_MARK in text and context.get("enabled"):
        selectors += _get_selectors(context.get("variable_selector"))
    return selectors


def _get_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _get_selectors(value: Any) -> list[Selector]:
    is_selector = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return [tuple(value)] if is_selector and value else []
