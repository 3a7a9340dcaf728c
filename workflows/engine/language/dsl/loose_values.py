"""Reads ids that a document writes as numbers, and numbers that it writes as text, as what they are.

Hand-written documents leave out the quotes of an id that consists of digits, and some editors save a number from a
form as text. The rest of the engine, and an export, sees only one form of each.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.language.dsl.reading import read_identifier
from workflows.engine.language.values import parse_number


_NUMBER: Final = re.compile(r"\s*-?[0-9]{1,15}(?:\.[0-9]{1,15})?\s*")
# Keys with one id, or with a version that is compared as text.
_IDS: Final = frozenset(
    {
        *("id", "start_node_id", "iteration_id", "loop_id", "case_id", "category_id", "groupId"),
        *("version", "tool_node_version"),
    }
)
_NUMBERS: Final = frozenset(
    {
        *("max_retries", "retry_interval", "backoff_multiplier", "max_retry_interval", "timeout"),
        *("timeout_secs", "parallel_nums", "parallelism", "loop_count", "max_iterations"),
        *("maximum_iterations", "top_k", "score_threshold", "max_length", "number_limits"),
        *("vector_weight", "keyword_weight", "window_size"),
    }
)
# Keys that are numbers in a part with this name, and elsewhere may be anything.
_NUMBERS_BY_PART: Final[Mapping[str, frozenset[str]]] = {
    "timeout": frozenset(
        {
            *("connect", "read", "write"),
            *("max_connect_timeout", "max_read_timeout", "max_write_timeout"),
        }
    ),
    "window": frozenset({"size"}),
    "limit": frozenset({"size"}),
    "completion_params": frozenset(
        {
            *("temperature", "top_p", "max_tokens", "presence_penalty", "frequency_penalty"),
            "seed",
        }
    ),
}
# Parts whose keys are names that the author or a tool gave, with values of any type.
_AUTHORS_OWN: Final = frozenset(
    {
        *("tool_parameters", "tool_configurations", "arguments", "agent_parameters", "inputs"),
        *("outputs", "metadata", "default_value", "json_schema", "schema", "structured_output"),
        *("value", "default", "initial_vars", "extensions"),
    }
)
# Lists of values, which are never the selector of a variable.
_VALUE_LISTS: Final = frozenset({"options", "enum", "default", "examples", "required"})


def list_number_ids(nodes: Collection[Json]) -> frozenset[str]:
    """Return the ids of nodes, as text, that a selector may write as numbers."""
    ids = (read_identifier(node.get("id")) for node in nodes if isinstance(node, Mapping))
    return frozenset(id_ for id_ in ids if id_ is not None and id_.isdecimal())


def read_loosely(data: Mapping[str, Json], number_ids: Collection[str]) -> dict[str, Json]:
    """Return the data of a node with each id as text and each number as a number.

    ``number_ids`` are those of ``list_number_ids``. What is neither stays as it is, and validation names it.
    """
    return {
        name: _read_part("", name, value, number_ids, is_own=False) for name, value in data.items()
    }


def _read_part(
    part: str, name: str, value: Json, number_ids: Collection[str], *, is_own: bool
) -> Json:
    """Return the value of a key of a part. With ``is_own`` an author gave the key its name."""
    if isinstance(value, Mapping):
        is_own = is_own or name in _AUTHORS_OWN
        return {
            key: _read_part(name, key, item, number_ids, is_own=is_own)
            for key, item in value.items()
        }
    if isinstance(value, list):
        if name not in _VALUE_LISTS and _is_selector(value, number_ids):
            return [str(value[0]), *value[1:]]
        return [_read_part(part, name, item, number_ids, is_own=is_own) for item in value]
    if is_own:
        return value
    if name in _IDS and _is_integer(value):
        return str(value)
    is_number = name in _NUMBERS or name in _NUMBERS_BY_PART.get(part, ())
    if is_number and isinstance(value, str) and _NUMBER.fullmatch(value):
        return parse_number(value)
    return value


def _is_selector(value: list[Json], number_ids: Collection[str]) -> bool:
    """Return whether a list is the selector of a variable whose node is named by a number."""
    if len(value) < 2 or not _is_integer(value[0]) or str(value[0]) not in number_ids:
        return False
    return all(isinstance(step, str) for step in value[1:])


def _is_integer(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
