"""Translates node data between xworkflow's vocabulary and Dify's, which the engine uses.

Each translation takes a node's data and returns a new one; it leaves unknown keys alone. Bodies of containers are
extracted before (``sub_graphs``).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from workflows.engine.errors import ValueMismatch
from workflows.engine.language.comparisons import normalize_operator
from workflows.engine.language.document import Json
from workflows.engine.language.dsl.reading import drop_keys, get_text
from workflows.engine.language.dsl.xworkflow_http import (
    translate_http_to_dify,
    translate_http_to_xworkflow,
)
from workflows.engine.language.failure_policy import read_count
from workflows.engine.language.values import infer_type, parse_constant, parse_type


Data = dict[str, Json]

# Operator of the engine → its name in xworkflow. The other names are the same with underscores.
OPERATORS: Final[Mapping[str, str]] = {
    "=": "equal",
    "≠": "not_equal",
    ">": "greater_than",
    "<": "less_than",
    "≥": "greater_than_or_equal",
    "≤": "less_than_or_equal",
}
# xworkflow has no switch besides the number of retries; this key keeps the number while retries are off.
DISABLED_RETRIES: Final = "max_retries_when_enabled"
# xworkflow calls main with one object and keeps all outputs; Dify calls it with keywords.
_CALLING: Final = "calling"
# Names of xworkflow → names of Dify.
_CLASS_KEYS: Final[Mapping[str, str]] = {"category_id": "id", "category_name": "name"}
_DEFAULT_BRANCH: Final = "default_branch"
_MISSING_IS_NULL: Final = "missing_is_null"
_LIST_KEYS: Final[Mapping[str, str]] = {"input_selector": "variable"}
_ITERATION_KEYS: Final[Mapping[str, str]] = {
    "input_selector": "iterator_selector",
    "parallel": "is_parallel",
    "parallelism": "parallel_nums",
}
_ERROR_MODES: Final[Mapping[str, str]] = {
    "continue_on_error": "continue-on-error",
    "remove_abnormal": "remove-abnormal-output",
}
_WRITE_MODES: Final[Mapping[str, str]] = {"overwrite": "over-write"}


def translate_to_dify(kind: str, data: Mapping[str, Json]) -> Data:
    """Return xworkflow's data with the engine's names, which are Dify's."""
    result = _translate_policy_to_dify(dict(data))
    return _TO_DIFY[kind](result) if kind in _TO_DIFY else result


def translate_to_xworkflow(kind: str, data: Mapping[str, Json]) -> Data:
    """Return the engine's data with xworkflow's names."""
    result = _translate_policy_to_xworkflow(dict(data))
    return _TO_XWORKFLOW[kind](result) if kind in _TO_XWORKFLOW else result


def _translate_policy_to_dify(data: Data) -> Data:
    strategy, retry = data.get("error_strategy"), data.get("retry_config")
    if isinstance(strategy, Mapping) and isinstance(strategy.get("type"), str):
        name = strategy["type"]
        data["error_strategy"] = None if name == "none" else name
        defaults = strategy.get("default_value")
        if isinstance(defaults, Mapping) and "default_value" not in data:
            data["default_value"] = _list_default_items(defaults)
    if isinstance(retry, Mapping):
        data["retry_config"] = _translate_retry_to_dify(dict(retry))
    return data


def _translate_policy_to_xworkflow(data: Data) -> Data:
    strategy, retry = data.get("error_strategy", ""), data.get("retry_config")
    if strategy is None or (isinstance(strategy, str) and strategy):
        strategy_data: Data = {"type": strategy or "none"}
        defaults = data.get("default_value")
        if isinstance(defaults, list) and defaults and all(map(_is_default, defaults)):
            strategy_data["default_value"] = {item["key"]: _get_default(item) for item in defaults}
            if defaults == _list_default_items(strategy_data["default_value"]):
                del data["default_value"]  # xworkflow's form expresses all of it
        data["error_strategy"] = strategy_data
    if isinstance(retry, Mapping):
        data["retry_config"] = _translate_retry_to_xworkflow(dict(retry))
    return data


def _translate_retry_to_dify(retry: Data) -> Data:
    if DISABLED_RETRIES in retry:
        return {**drop_keys(retry, DISABLED_RETRIES), "max_retries": retry[DISABLED_RETRIES]}
    if "retry_enabled" in retry:
        return retry
    return {"retry_enabled": bool(read_count(retry.get("max_retries"))), **retry}


def _translate_retry_to_xworkflow(retry: Data) -> Data:
    enabled = bool(retry.get("retry_enabled"))
    if not enabled and retry.get("max_retries"):
        return {**retry, "max_retries": 0, DISABLED_RETRIES: retry["max_retries"]}
    return drop_keys(retry, "retry_enabled")


def _list_default_items(defaults: Mapping[str, Json]) -> list[Data]:
    return [
        {"key": key, "type": str(infer_type(value)), "value": value}
        for key, value in defaults.items()
    ]


def _get_default(item: Mapping[str, Json]) -> Json:
    """Return the value of a default, converted to its type if possible."""
    value_type = parse_type(get_text(item.get("type")))
    try:
        return parse_constant(item.get("value"), value_type) if value_type else item.get("value")
    except ValueMismatch:
        return item.get("value")


def _is_default(item: Json) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("key"), str)


def _translate_code_to_dify(data: Data) -> Data:
    if data.get(_CALLING) == "keywords":  # marked by our writer: main takes keywords, as in Dify
        data = drop_keys(data, _CALLING)
    elif "language" in data:
        data = {**data, _CALLING: "inputs"}
    return _rename_keys(data, {"language": "code_language"})


def _translate_code_to_xworkflow(data: Data) -> Data:
    is_xworkflow = data.get(_CALLING) == "inputs"
    data = drop_keys(data, _CALLING) if is_xworkflow else {**data, _CALLING: "keywords"}
    return _rename_keys(data, {"code_language": "language"})


def _translate_cases(data: Data, translate_operator: Callable[[str], str]) -> Data:
    if isinstance(data.get("cases"), list):
        cases = [
            _translate_conditions(case, "conditions", translate_operator)
            if isinstance(case, Mapping)
            else case
            for case in data["cases"]
        ]
        data = {**data, "cases": cases}
    return _translate_conditions(data, "conditions", translate_operator)


def _translate_if_else_to_dify(data: Data) -> Data:
    """Return a branch whose conditions take missing variables for null, which is a setting here."""
    data = _translate_cases(data, _translate_operator_to_dify)
    if data.get(_MISSING_IS_NULL) is False:  # marked by our writer: they fail, as in Dify
        return drop_keys(data, _MISSING_IS_NULL)
    return {**data, _MISSING_IS_NULL: True}


def _translate_if_else_to_xworkflow(data: Data) -> Data:
    data = _translate_cases(data, _translate_operator_to_xworkflow)
    if data.get(_MISSING_IS_NULL):
        return drop_keys(data, _MISSING_IS_NULL)
    return {**data, _MISSING_IS_NULL: False}


def _translate_list_to_dify(data: Data) -> Data:
    """Return a list operator with the selector of its list under the engine's name, if it has one operation."""
    if not data.get("operation"):
        return data
    data = {
        key: value.split(".") if key.endswith("selector") and isinstance(value, str) else value
        for key, value in data.items()
    }
    return _rename_keys(data, _LIST_KEYS)


def _translate_list_to_xworkflow(data: Data) -> Data:
    return _rename_keys(data, _invert(_LIST_KEYS)) if data.get("operation") else data


def _translate_loop(data: Data, translate_operator: Callable[[str], str]) -> Data:
    data = _translate_conditions(data, "break_conditions", translate_operator)
    if "condition" not in data:
        return data
    return {**data, "condition": _translate_condition(data["condition"], translate_operator)}


def _translate_conditions(
    data: Mapping[str, Json], key: str, translate_operator: Callable[[str], str]
) -> Data:
    conditions = data.get(key)
    if not isinstance(conditions, list):
        return dict(data)
    return {**data, key: [_translate_condition(item, translate_operator) for item in conditions]}


def _translate_condition(condition: Json, translate_operator: Callable[[str], str]) -> Json:
    if not isinstance(condition, Mapping):
        return condition
    operator = condition.get("comparison_operator")
    if not isinstance(operator, str):
        return condition
    return {**condition, "comparison_operator": translate_operator(operator)}


def _translate_operator_to_dify(name: str) -> str:
    return normalize_operator(name) or name


def _translate_operator_to_xworkflow(name: str) -> str:
    operator = normalize_operator(name)
    return name if operator is None else OPERATORS.get(operator, operator.replace(" ", "_"))


def _translate_iteration(data: Data, names: Mapping[str, str], modes: Mapping[str, str]) -> Data:
    return _replace_value(_rename_keys(data, names), "error_handle_mode", modes)


def _replace_value(data: Data, key: str, values: Mapping[str, str]) -> Data:
    value = data.get(key)
    return {**data, key: values[value]} if isinstance(value, str) and value in values else data


def _translate_llm_to_dify(data: Data) -> Data:
    memory = data.get("memory")
    if not isinstance(memory, Mapping) or "enabled" not in memory:
        return data
    if "window" in memory:  # our writer adds xworkflow's keys next to Dify's
        implied = ("enabled", "window_size") if memory["enabled"] is True else ("window_size",)
        return {**data, "memory": drop_keys(memory, *implied)}
    size = memory.get("window_size")
    window = {"enabled": size is not None, "size": size}
    return {**data, "memory": {**drop_keys(memory, "window_size"), "window": window}}


def _translate_llm_to_xworkflow(data: Data) -> Data:
    memory = data.get("memory")
    if not isinstance(memory, Mapping) or not isinstance(memory.get("window"), Mapping):
        return data
    window = memory["window"]
    size = {"window_size": window.get("size")} if window.get("enabled") else {}
    if "enabled" in memory and window == {"enabled": bool(size), "size": size.get("window_size")}:
        return {**data, "memory": {**drop_keys(memory, "window"), **size}}
    return {**data, "memory": {"enabled": True, **memory, **size}}


def _translate_classifier_to_dify(data: Data) -> Data:
    """Return a classifier whose branch for other texts, which each of xworkflow's has, is a setting."""
    data = _rename_items(_translate_llm_to_dify(data), "categories", "classes", _CLASS_KEYS)
    if data.get(_DEFAULT_BRANCH) is False:  # marked by our writer: the node has none, as in Dify
        return drop_keys(data, _DEFAULT_BRANCH)
    return {**data, _DEFAULT_BRANCH: True}


def _translate_classifier_to_xworkflow(data: Data) -> Data:
    data = _rename_items(
        _translate_llm_to_xworkflow(data), "classes", "categories", _invert(_CLASS_KEYS)
    )
    if data.get(_DEFAULT_BRANCH):
        return drop_keys(data, _DEFAULT_BRANCH)
    return {**data, _DEFAULT_BRANCH: False}


def _rename_items(data: Data, old: str, new: str, names: Mapping[str, str]) -> Data:
    items = data.get(old)
    if not isinstance(items, list):
        return data
    renamed = [_rename_keys(item, names) if isinstance(item, Mapping) else item for item in items]
    return {**drop_keys(data, old), new: renamed}


def _rename_keys(data: Mapping[str, Json], names: Mapping[str, str]) -> Data:
    # If the data already has the new key, both keys are kept.
    return {
        names[key] if key in names and names[key] not in data else key: value
        for key, value in data.items()
    }


def _invert(names: Mapping[str, str]) -> dict[str, str]:
    return {new: old for old, new in names.items()}


_TO_DIFY: Final[Mapping[str, Callable[[Data], Data]]] = {
    "code": _translate_code_to_dify,
    "http-request": translate_http_to_dify,
    "if-else": _translate_if_else_to_dify,
    "list-operator": _translate_list_to_dify,
    "iteration": partial(_translate_iteration, names=_ITERATION_KEYS, modes=_ERROR_MODES),
    "loop": partial(_translate_loop, translate_operator=_translate_operator_to_dify),
    "assigner": partial(_replace_value, key="write_mode", values=_WRITE_MODES),
    "parameter-extractor": _translate_llm_to_dify,
    "question-classifier": _translate_classifier_to_dify,
    "llm": _translate_llm_to_dify,
}
_TO_XWORKFLOW: Final[Mapping[str, Callable[[Data], Data]]] = {
    "code": _translate_code_to_xworkflow,
    "http-request": translate_http_to_xworkflow,
    "if-else": _translate_if_else_to_xworkflow,
    "list-operator": _translate_list_to_xworkflow,
    "iteration": partial(
        _translate_iteration, names=_invert(_ITERATION_KEYS), modes=_invert(_ERROR_MODES)
    ),
    "loop": partial(_translate_loop, translate_operator=_translate_operator_to_xworkflow),
    "assigner": partial(_replace_value, key="write_mode", values=_invert(_WRITE_MODES)),
    "parameter-extractor": _translate_llm_to_xworkflow,
    "question-classifier": _translate_classifier_to_xworkflow,
    "llm": _translate_llm_to_xworkflow,
}
