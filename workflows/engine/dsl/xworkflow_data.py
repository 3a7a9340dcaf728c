"""Node data between xworkflow's words and those used inside, both ways.

Inside we speak Dify's. Each translation takes a node's data and gives a new one; what it doesn't
know it leaves alone. Bodies of containers (``sub_graph``) travel as they are.
"""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.comparisons import canonical_operator
from workflows.engine.document import Json
from workflows.engine.dsl.loaded import without
from workflows.engine.values import infer


Data = dict[str, Json]

# xworkflow's name of an operator ← ours. The rest are ours with underscores.
OPERATORS: Final[Mapping[str, str]] = {
    "=": "equal",
    "≠": "not_equal",
    ">": "greater_than",
    "<": "less_than",
    "≥": "greater_than_or_equal",
    "≤": "less_than_or_equal",
}


def inward(kind: str, data: Mapping[str, Json]) -> Data:
    """xworkflow's data in the words used inside."""
    result = _policy_inward(dict(data))
    return _INWARD[kind](result) if kind in _INWARD else result


def outward(kind: str, data: Mapping[str, Json]) -> Data:
    """Data in xworkflow's words."""
    result = _policy_outward(dict(data))
    return _OUTWARD[kind](result) if kind in _OUTWARD else result


def _policy_inward(data: Data) -> Data:
    strategy, retry = data.get("error_strategy"), data.get("retry_config")
    if isinstance(strategy, Mapping) and isinstance(strategy.get("type"), str):
        name = strategy["type"]
        data["error_strategy"] = None if name == "none" else name
        defaults = strategy.get("default_value")
        if isinstance(defaults, Mapping):
            data["default_value"] = [
                {"key": key, "type": str(infer(value)), "value": value}
                for key, value in defaults.items()
            ]
    if isinstance(retry, Mapping) and "retry_enabled" not in retry:
        retries = retry.get("max_retries")
        enabled = isinstance(retries, int) and retries > 0
        data["retry_config"] = {"retry_enabled": enabled, **retry}
    return data


def _policy_outward(data: Data) -> Data:
    strategy, retry = data.get("error_strategy", ""), data.get("retry_config")
    if strategy is None or (isinstance(strategy, str) and strategy):
        written: Data = {"type": strategy or "none"}
        defaults = data.get("default_value")
        if isinstance(defaults, list) and defaults and all(map(_is_default, defaults)):
            written["default_value"] = {item["key"]: item.get("value") for item in defaults}
            data = without(data, "default_value")
        data["error_strategy"] = written
    if isinstance(retry, Mapping) and "retry_enabled" in retry:
        switched_off = not retry["retry_enabled"]
        data["retry_config"] = without(retry, "retry_enabled")
        if switched_off and retry.get("max_retries"):
            data["retry_config"]["max_retries"] = 0
    return data


def _is_default(item: Json) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("key"), str)


def _code_inward(data: Data) -> Data:
    return _renamed(data, {"language": "code_language"})


def _code_outward(data: Data) -> Data:
    return _renamed(data, {"code_language": "language"})


def _cases(spelled: Callable[[str], str]) -> Callable[[Data], Data]:
    def translate(data: Data) -> Data:
        cases = data.get("cases")
        if isinstance(cases, list):
            data["cases"] = [_case(case, spelled) for case in cases]
        if isinstance(data.get("conditions"), list):
            data["conditions"] = [_condition(item, spelled) for item in data["conditions"]]
        return data

    return translate


def _case(case: Json, spelled: Callable[[str], str]) -> Json:
    if not isinstance(case, Mapping) or not isinstance(case.get("conditions"), list):
        return case
    return {**case, "conditions": [_condition(item, spelled) for item in case["conditions"]]}


def _condition(condition: Json, spelled: Callable[[str], str]) -> Json:
    if not isinstance(condition, Mapping):
        return condition
    operator = condition.get("comparison_operator")
    if not isinstance(operator, str):
        return condition
    return {**condition, "comparison_operator": spelled(operator)}


def _operator_inward(name: str) -> str:
    return canonical_operator(name) or name


def _operator_outward(name: str) -> str:
    known = canonical_operator(name)
    return name if known is None else OPERATORS.get(known, known.replace(" ", "_"))


def _assigner_inward(data: Data) -> Data:
    return {**data, "write_mode": "over-write"} if data.get("write_mode") == "overwrite" else data


def _assigner_outward(data: Data) -> Data:
    return {**data, "write_mode": "overwrite"} if data.get("write_mode") == "over-write" else data


def _classifier_inward(data: Data) -> Data:
    return _renamed_items(data, "categories", "classes", _CLASS)


def _classifier_outward(data: Data) -> Data:
    backwards = {new: old for old, new in _CLASS.items()}
    return _renamed_items(data, "classes", "categories", backwards)


def _llm_inward(data: Data) -> Data:
    memory = data.get("memory")
    if not isinstance(memory, Mapping) or "enabled" not in memory or "window" in memory:
        return data
    size = memory.get("window_size")
    window = {"enabled": size is not None, "size": size}
    return {**data, "memory": {**without(memory, "window_size"), "window": window}}


def _llm_outward(data: Data) -> Data:
    memory = data.get("memory")
    if not isinstance(memory, Mapping) or not isinstance(memory.get("window"), Mapping):
        return data
    window = memory["window"]
    written = {"enabled": True, **without(memory, "window")}
    if window.get("enabled"):
        written["window_size"] = window.get("size")
    return {**data, "memory": written}


def _renamed_items(data: Data, old: str, new: str, names: Mapping[str, str]) -> Data:
    items = data.get(old)
    if not isinstance(items, list):
        return data
    renamed = [_renamed(item, names) if isinstance(item, Mapping) else item for item in items]
    return {**without(data, old), new: renamed}


def _renamed(data: Mapping[str, Json], names: Mapping[str, str]) -> Data:
    # A key that is already there under the other name is left alone: both stay.
    return {
        names[key] if key in names and names[key] not in data else key: value
        for key, value in data.items()
    }


_CLASS: Final[Mapping[str, str]] = {"category_id": "id", "category_name": "name"}
_INWARD: Final[Mapping[str, Callable[[Data], Data]]] = {
    "code": _code_inward,
    "if-else": _cases(_operator_inward),
    "assigner": _assigner_inward,
    "question-classifier": _classifier_inward,
    "llm": _llm_inward,
}
_OUTWARD: Final[Mapping[str, Callable[[Data], Data]]] = {
    "code": _code_outward,
    "if-else": _cases(_operator_outward),
    "assigner": _assigner_outward,
    "question-classifier": _classifier_outward,
    "llm": _llm_outward,
}
