"""What a card says about its node in one line, and what stands beside each of its ways out.

A line is for orientation: the inspector shows the whole. A variable goes by its own name: the id before it
says nothing to people, and the title of the other node may change without this card. Nothing here may fail: a draft holds whatever
its author wrote so far.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from django.utils.translation import gettext as _

from workflows.engine.comparisons import ALIASES, UNARY
from workflows.engine.document import Json, NodeSpec
from workflows.engine.geometry import FAIL_BRANCH, SOURCE
from workflows.engine.kinds import AnyKind
from workflows.engine.remembering import KIND_SCOPES
from workflows.engine.templating import REFERENCE
from workflows.views.editor.operators import operator_word


WAY_ROOM = 27  # columns beside the word of a way out
LONGEST = 200  # more than any card has room for


class Way(NamedTuple):
    """One way out: ``word`` says when it is gone, ``text`` what is asked."""

    handle: str
    word: str
    text: str = ""


Data = Mapping[str, Json]


def summary(node: NodeSpec, kind: AnyKind | None) -> str:
    made = SUMMARIES.get(kind.name if kind else node.kind)
    text = REFERENCE.sub(_own_name, made(node.data)) if made else ""
    return text or (_(kind.description) if kind and kind.description else "")


def _own_name(reference: re.Match[str]) -> str:
    return "{" + reference[0].strip("{}#").rpartition(".")[2] + "}"


def ways(node: NodeSpec, kind: AnyKind | None, handles: Sequence[str]) -> tuple[Way, ...]:
    named = WAYS.get(kind.name if kind else node.kind, _plain_ways)
    known = named(node.data)
    return tuple(known.get(handle) or _common_way(handle) for handle in handles)


def clipped(text: str, room: int) -> str:
    """On one line, cut where the room ends."""
    text = " ".join(text[:LONGEST].split())
    if len(text) * 2 <= room or columns(text) <= room:
        return text
    used, end = 0, 0
    while used + _columns(text[end]) < room:
        used += _columns(text[end])
        end += 1
    return text[:end].rstrip() + "…"


def columns(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    return 2 if not letter.isascii() and east_asian_width(letter) in "WF" else 1


def _common_way(handle: str) -> Way:
    if handle == FAIL_BRANCH:
        return Way(handle, _("on failure"))
    if handle == SOURCE:
        return Way(handle, _("then"))
    return Way(handle, "", clipped(handle, WAY_ROOM))


def _plain_ways(data: Data) -> dict[str, Way]:
    return {}


def _cases(data: Data) -> dict[str, Way]:
    cases = data.get("cases")
    if not isinstance(cases, list | tuple):
        cases = [{"case_id": "true", **data}]
    found: dict[str, Way] = {}
    for case in filter(_is_mapping, cases):
        handle = str(case.get("case_id") or case.get("id") or "true")
        found.setdefault(handle, Way(handle, _("else if") if found else _("if"), _conditions(case)))
    return {**found, "false": Way("false", _("else"))}


def _conditions(case: Data) -> str:
    asked = [c for c in _listed(case.get("conditions")) if _is_mapping(c)]
    joint = _(" or ") if str(case.get("logical_operator")) == "or" else _(" and ")
    return clipped(joint.join(map(_condition, asked)), WAY_ROOM) if asked else _("always")


def _condition(condition: Data) -> str:
    operator = _text(condition.get("comparison_operator"))
    left = _last(condition.get("variable_selector"))
    value = condition.get("value")
    right = "" if value in (None, "") or _is_unary(operator) else _expected(str(value))
    return " ".join(filter(None, (left, operator_word(operator), right)))


def _is_unary(operator: str) -> bool:
    spelled = operator.replace("_", " ")
    return ALIASES.get(spelled, spelled) in UNARY


def _expected(value: str) -> str:
    """A lone sign is lost among words without quotes."""
    return value if any(letter.isalnum() for letter in value) else f"“{value}”"


def _classes(data: Data) -> dict[str, Way]:
    classes = [c for c in _listed(data.get("classes")) if _is_mapping(c)]
    return {
        str(c.get("id")): Way(str(c.get("id")), "", clipped(_text(c.get("name")), WAY_ROOM))
        for c in classes
    }


def _actions(data: Data) -> dict[str, Way]:
    actions = [a for a in _listed(data.get("user_actions")) if _is_mapping(a)]
    found = {str(a.get("id")): Way(str(a.get("id")), "", _text(a.get("title"))) for a in actions}
    return {**found, "__timeout": Way("__timeout", _("too late"))}


WAYS: dict[str, Callable[[Data], dict[str, Way]]] = {
    "if-else": _cases,
    "question-classifier": _classes,
    "human-input": _actions,
}


def _model(data: Data) -> str:
    model = data.get("model")
    return _text(model.get("name")) if isinstance(model, Mapping) else ""


def _memory(data: Data) -> str:
    scope = _text(data.get("scope"))
    key = _text(data.get("key")) or _last(data.get("query_selector"))
    return f"{_scope_word(scope)} · {key}" if key else _scope_word(scope)


def _history(data: Data) -> str:
    """The kept window is told where there is one."""
    words = {"append": _("Append"), "read": _("Read"), "clear": _("Clear")}
    action = words.get(_text(data.get("action")) or "append", "")
    turns = data.get("max_turns") if data.get("strategy") == "sliding_window" else None
    window = _("the last %(count)s turns") % {"count": turns} if turns else ""
    return " · ".join(filter(None, (action, window)))


def _sought(data: Data) -> str:
    asked = _last(data.get("query_variable_selector") or data.get("query_selector"))
    return " · ".join(filter(None, (_scope_word(_text(data.get("scope")) or "global"), asked)))


def _page(data: Data) -> str:
    named = _text(data.get("page_title")) or _last(data.get("pages_selector"))
    return " · ".join(filter(None, (_scope_word(_text(data.get("scope")) or "global"), named)))


def _retrieved(data: Data) -> str:
    scope = _text(data.get("scope")) or KIND_SCOPES["memory-retrieval"]
    named = (_last(data.get(f"{name}_selector")) for name in ("topic", "content", "document"))
    return " · ".join((_scope_word(scope), *filter(None, named)))


def _forgotten(data: Data) -> str:
    asked = data.get("filter")
    parts = asked.items() if isinstance(asked, Mapping) else ()
    only = _comma(f"{name}: {_text(value)}" for name, value in parts)
    which = _text(data.get("key")) or only
    return " · ".join(filter(None, (_scope_word(_text(data.get("scope"))), which)))


def _scope_word(scope: str) -> str:
    words = {
        "workflow": _("This workflow, for its group"),
        "conversation": _("This conversation"),
        "user": _("This person"),
        "global": _("Everyone"),
        "run": _("This run"),
    }
    return words.get(scope, scope)


def _names(key: str, name: str = "variable") -> Callable[[Data], str]:
    return lambda data: _comma(_text(i.get(name)) for i in _listed(data.get(key)) if _is_mapping(i))


def _field(key: str) -> Callable[[Data], str]:
    return lambda data: _text(data.get(key))


def _http(data: Data) -> str:
    url = _text(data.get("url"))
    return f"{_text(data.get('method') or 'get').upper()} {url}" if url else ""


def _code(data: Data) -> str:
    outputs = data.get("outputs")
    language = _text(data.get("code_language") or data.get("language"))
    names = _comma(map(str, outputs)) if isinstance(outputs, Mapping) else ""
    return f"{language} → {names}" if names else language


def _aggregated(data: Data) -> str:
    return _comma(dict.fromkeys(map(_last, _listed(data.get("variables")))))


def _assigned(data: Data) -> str:
    items = [i for i in _listed(data.get("items")) if _is_mapping(i)]
    selectors = [i.get("variable_selector") for i in items] or [
        data.get("assigned_variable_selector")
    ]
    return _comma(filter(None, map(_last, selectors)))


def _each(data: Data) -> str:
    name = _last(data.get("iterator_selector"))
    return _("for each of %(list)s") % {"list": name} if name else ""


def _rounds(data: Data) -> str:
    count = data.get("loop_count")
    return _("at most %(count)s rounds") % {"count": count} if count else ""


SUMMARIES: dict[str, Callable[[Data], str]] = {
    "start": _names("variables"),
    "end": _names("outputs"),
    "answer": _field("answer"),
    "llm": _model,
    "agent": _model,
    "parameter-extractor": _names("parameters", "name"),
    "template-transform": _field("template"),
    "variable-aggregator": _aggregated,
    "assigner": _assigned,
    "memory-recall": _memory,
    "memory-store": _memory,
    "memory-retrieval": _retrieved,
    "memory-delete": _forgotten,
    "conversation-memory": _history,
    "knowledge-retrieval": _sought,
    "knowledge-write": _page,
    "http-request": _http,
    "code": _code,
    "iteration": _each,
    "loop": _rounds,
    "tool": _field("tool_label"),
}


def _is_mapping(value: Json) -> bool:
    return isinstance(value, Mapping)


def _listed(value: Json) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _last(selector: Json) -> str:
    parts = _listed(selector)
    return str(parts[-1]) if parts else ""


def _comma(words: Iterable[str]) -> str:
    return ", ".join(filter(None, words))
