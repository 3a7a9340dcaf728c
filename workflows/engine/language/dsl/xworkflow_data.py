"""Node data between xworkflow's words and those used inside, both ways.

Inside we speak Dify's. Each translation takes a node's data and gives a new one; what it doesn't
know it leaves alone. Bodies of containers were taken out before: see ``sub_graphs``.
"""

from collections.abc import Callable, Mapping
from typing import Final

from workflows.engine.errors import ValueMismatch
from workflows.engine.language.comparisons import canonical_operator
from workflows.engine.language.document import Json
from workflows.engine.language.dsl.loaded import text_or, without
from workflows.engine.language.dsl.xworkflow_http import http_inward, http_outward
from workflows.engine.language.values import infer, parse_constant, parse_type


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


# xworkflow has no switch beside the number of retries; the number waits here until it is on again.
SWITCHED_OFF: Final = "max_retries_when_enabled"


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
        if isinstance(defaults, Mapping) and "default_value" not in data:
            data["default_value"] = _default_items(defaults)
    if isinstance(retry, Mapping):
        data["retry_config"] = _retry_inward(dict(retry))
    return data


def _policy_outward(data: Data) -> Data:
    strategy, retry = data.get("error_strategy", ""), data.get("retry_config")
    if strategy is None or (isinstance(strategy, str) and strategy):
        written: Data = {"type": strategy or "none"}
        defaults = data.get("default_value")
        if isinstance(defaults, list) and defaults and all(map(_is_default, defaults)):
            written["default_value"] = {item["key"]: _default(item) for item in defaults}
            if defaults == _default_items(written["default_value"]):
                del data["default_value"]  # nothing in it that xworkflow's form doesn't say
        data["error_strategy"] = written
    if isinstance(retry, Mapping):
        data["retry_config"] = _retry_outward(dict(retry))
    return data


def _retry_inward(retry: Data) -> Data:
    if SWITCHED_OFF in retry:
        return {**without(retry, SWITCHED_OFF), "max_retries": retry[SWITCHED_OFF]}
    if "retry_enabled" in retry:
        return retry
    retries = retry.get("max_retries")
    return {"retry_enabled": isinstance(retries, int) and retries > 0, **retry}


def _retry_outward(retry: Data) -> Data:
    enabled = bool(retry.get("retry_enabled"))
    if not enabled and retry.get("max_retries"):
        return {**retry, "max_retries": 0, SWITCHED_OFF: retry["max_retries"]}
    return without(retry, "retry_enabled")


def _default_items(defaults: Mapping[str, Json]) -> list[Data]:
    return [
        {"key": key, "type": str(infer(value)), "value": value} for key, value in defaults.items()
    ]


def _default(item: Mapping[str, Json]) -> Json:
    """A default's value; texts that stand for other types are read, where they can be."""
    kind = parse_type(text_or(item.get("type")))
    try:
        return item.get("value") if kind is None else parse_constant(item.get("value"), kind)
    except ValueMismatch:
        return item.get("value")


def _is_default(item: Json) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("key"), str)


# xworkflow calls main with one object and keeps whatever comes back.
_CALLING: Final = "calling"


def _code_inward(data: Data) -> Data:
    if data.get(_CALLING) == "keywords":  # our own writer says that it isn't xworkflow's way
        data = without(data, _CALLING)
    elif "language" in data:
        data = {**data, _CALLING: "inputs"}
    return _renamed(data, {"language": "code_language"})


def _code_outward(data: Data) -> Data:
    own = data.get(_CALLING) == "inputs"
    data = without(data, _CALLING) if own else {**data, _CALLING: "keywords"}
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


def _iteration_inward(data: Data) -> Data:
    renamed = _renamed(data, _ITERATION)
    mode = renamed.get("error_handle_mode")
    if isinstance(mode, str) and mode in _ERROR_MODES:
        return {**renamed, "error_handle_mode": _ERROR_MODES[mode]}
    return renamed


def _iteration_outward(data: Data) -> Data:
    renamed = _renamed(data, {new: old for old, new in _ITERATION.items()})
    modes = {new: old for old, new in _ERROR_MODES.items()}
    mode = renamed.get("error_handle_mode")
    if isinstance(mode, str) and mode in modes:
        return {**renamed, "error_handle_mode": modes[mode]}
    return renamed


def _loop_inward(data: Data) -> Data:
    return _loop_condition(data, _operator_inward)


def _loop_outward(data: Data) -> Data:
    return _loop_condition(data, _operator_outward)


def _loop_condition(data: Data, spelled: Callable[[str], str]) -> Data:
    if isinstance(data.get("break_conditions"), list):
        conditions = [_condition(item, spelled) for item in data["break_conditions"]]
        data = {**data, "break_conditions": conditions}
    if "condition" not in data:
        return data
    return {**data, "condition": _condition(data["condition"], spelled)}


def _llm_inward(data: Data) -> Data:
    memory = data.get("memory")
    if not isinstance(memory, Mapping) or "enabled" not in memory:
        return data
    if "window" in memory:  # our own writer put xworkflow's keys beside Dify's
        implied = ("enabled", "window_size") if memory["enabled"] is True else ("window_size",)
        return {**data, "memory": without(memory, *implied)}
    size = memory.get("window_size")
    window = {"enabled": size is not None, "size": size}
    return {**data, "memory": {**without(memory, "window_size"), "window": window}}


def _llm_outward(data: Data) -> Data:
    memory = data.get("memory")
    if not isinstance(memory, Mapping) or not isinstance(memory.get("window"), Mapping):
        return data
    window = memory["window"]
    size = {"window_size": window.get("size")} if window.get("enabled") else {}
    if "enabled" in memory and window == {"enabled": bool(size), "size": size.get("window_size")}:
        return {**data, "memory": {**without(memory, "window"), **size}}
    return {**data, "memory": {"enabled": True, **memory, **size}}


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
_ITERATION: Final[Mapping[str, str]] = {
    "input_selector": "iterator_selector",
    "parallel": "is_parallel",
    "parallelism": "parallel_nums",
}
_ERROR_MODES: Final[Mapping[str, str]] = {
    "continue_on_error": "continue-on-error",
    "remove_abnormal": "remove-abnormal-output",
}
_INWARD: Final[Mapping[str, Callable[[Data], Data]]] = {
    "code": _code_inward,
    "http-request": http_inward,
    "if-else": _cases(_operator_inward),
    "iteration": _iteration_inward,
    "loop": _loop_inward,
    "assigner": _assigner_inward,
    "question-classifier": _classifier_inward,
    "llm": _llm_inward,
}
_OUTWARD: Final[Mapping[str, Callable[[Data], Data]]] = {
    "code": _code_outward,
    "http-request": http_outward,
    "if-else": _cases(_operator_outward),
    "iteration": _iteration_outward,
    "loop": _loop_outward,
    "assigner": _assigner_outward,
    "question-classifier": _classifier_outward,
    "llm": _llm_outward,
}
