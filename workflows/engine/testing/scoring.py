"""Scores an answer against the expected one, from 0 to 1, with the reason of a lower score."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from workflows.engine.language.document import Json
from workflows.engine.nodes.llm.json_answers import find_json_object
from workflows.engine.testing.cases import Case, CaseResult


_MISSING: Final = object()
_MAX_DIFFERENCES: Final = 20


@dataclass(frozen=True, slots=True)
class Score:
    """A score from 0 to 1; ``problem`` says why there is none."""

    value: float | None
    reason: str = ""
    problem: str = ""


def score_exact(answer: Json, expected: Json) -> Score:
    """Compare the texts without the white space around them, and other values as JSON."""
    is_equal = _normalize(answer) == _normalize(expected)
    return Score(1.0) if is_equal else Score(0.0, "The answer differs from the expected one.")


def score_contains(answer: Json, expected: Json) -> Score:
    """Return the share of the expected texts that the answer contains, in upper or lower case."""
    texts = expected if isinstance(expected, list) else [expected]
    text = to_text(answer).casefold()
    missing = [to_text(part) for part in texts if to_text(part).casefold() not in text]
    if not missing:
        return Score(1.0)
    return Score(1 - len(missing) / len(texts), "Missing: " + ", ".join(missing[:_MAX_DIFFERENCES]))


def score_json_subset(answer: Json, expected: Json) -> Score:
    """Return the share of the expected values that the answer has at the same place."""
    value, target = read_json(answer), read_json(expected)
    if value is _MISSING or target is _MISSING:
        return _explain_no_json(value)
    leaves = list(_iterate_leaves(target))
    wrong = [path for path, leaf in leaves if _find(value, path) != leaf]
    if not wrong:
        return Score(1.0)
    return Score(1 - len(wrong) / len(leaves), "Different: " + _write_paths(wrong))


def score_json_equal(answer: Json, expected: Json) -> Score:
    value, target = read_json(answer), read_json(expected)
    if value is _MISSING or target is _MISSING:
        return _explain_no_json(value)
    if value == target:
        return Score(1.0)
    paths = dict.fromkeys(
        path for path, _leaf in (*_iterate_leaves(target), *_iterate_leaves(value))
    )
    wrong = [path for path in paths if _find(value, path) != _find(target, path)]
    return Score(0.0, "Different: " + _write_paths(wrong))


SCORERS: Final[Mapping[str, Callable[[Json, Json], Score]]] = {
    "exact": score_exact,
    "contains": score_contains,
    "json_subset": score_json_subset,
    "json_equal": score_json_equal,
}


def score_checks(case: Case, result: CaseResult) -> Score:
    """Return the share of the checks that hold. A case without any needs runs that succeed."""
    findings = [
        finding
        for turn, turn_result in zip(case.turns, result.turns, strict=False)
        for finding in turn_result.findings
        if turn.checks or not case.has_checks
    ]
    failed = [finding for finding in findings if not finding.ok]
    if not failed:
        return Score(1.0)
    texts = [f"{each.check}; it was {each.actual or 'nothing'}" for each in failed]
    reason = "Failed: " + ". ".join(texts[:_MAX_DIFFERENCES])
    return Score(1 - len(failed) / len(findings), reason)


def take_lower(one: Score, other: Score) -> Score:
    """Return the lower of two scores with the reasons of both. A missing score leaves the case without one."""
    reason = ". ".join(filter(None, (one.reason, other.reason)))
    lower = min(one, other, key=lambda score: -1.0 if score.value is None else score.value)
    return replace(lower, reason=reason)


def to_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_json(value: Json) -> object:
    """Return a value, or the JSON in a text, which may be in a code fence; ``_MISSING`` if there is none."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        json_object = find_json_object(value)
        return _MISSING if json_object is None else json_object


def _explain_no_json(value: object) -> Score:
    if value is _MISSING:
        return Score(0.0, "The answer is not JSON.")
    return Score(None, problem="The expected answer is not JSON.")


def _normalize(value: Json) -> Json:
    return value.strip() if isinstance(value, str) else value


def _iterate_leaves(
    value: object, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Yield the path and value of each part that contains no others."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _iterate_leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _iterate_leaves(inner, (*path, index))
    else:
        yield path, value


def _find(value: object, path: tuple[str | int, ...]) -> object:
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part, _MISSING)
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part] if part < len(value) else _MISSING
        else:
            return _MISSING
    return value


def _write_paths(paths: list[tuple[str | int, ...]]) -> str:
    return ", ".join(
        ".".join(map(str, path)) or "the whole value" for path in paths[:_MAX_DIFFERENCES]
    )
