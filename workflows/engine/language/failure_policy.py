"""Reads a node's policy for its failures: retries, time limit, where a run continues, and what a lost worker means."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Final

from workflows.engine.errors import ValueMismatch
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.problems import Problem, build_warning
from workflows.engine.language.values import is_number, parse_constant, parse_number, parse_type


FAIL_HANDLE: Final = "fail-branch"
# The outputs of a node whose failure was handled.
ERROR_OUTPUTS: Final = ("error_message", "error_type")
_RETRY: Final = "retry_config"
RETRY_SAFETY: Final = "retry_safety"  # the key in a node's data


class Strategy(StrEnum):
    ABORT = "none"  # the run fails
    FAIL_BRANCH = "fail-branch"  # continue at a separate handle
    DEFAULT_VALUE = "default-value"  # continue with these outputs


class RetrySafety(StrEnum):
    """Says whether a step may be called again whose worker was lost before the step had a result.

    The called service may have received the call or not: its outcome is unknown.
    """

    SAFE = "safe"  # call again, with the same idempotency key
    ASK = "ask"  # call again if the call only reads, otherwise ask a person
    NEVER = "never"  # always ask a person, and never retry by itself


class Backoff(StrEnum):
    FIXED = "fixed"
    EXPONENTIAL = "exponential"
    JITTER = "exponential_with_jitter"


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed node is retried, and after which waits. A kind declares its default settings in one, too."""

    max_retries: int = 0
    interval_ms: float = 0
    backoff: Backoff = Backoff.FIXED
    multiplier: float = 2
    max_interval_ms: float = 60_000
    only_retryable: bool = False

    def allows(self, tries: int, *, retryable: bool) -> bool:
        return tries <= self.max_retries and (retryable or not self.only_retryable)

    def compute_delay(self, tries: int, seed: str) -> float:
        """Return the seconds to wait after a try. The jitter depends on the seed alone, so that a replay waits as long."""
        if self.backoff is Backoff.FIXED:
            return self.interval_ms / 1000
        interval_ms = min(self.interval_ms * self.multiplier ** (tries - 1), self.max_interval_ms)
        if self.backoff is Backoff.JITTER:
            interval_ms *= Random(f"{seed}:{tries}").uniform(0.5, 1.0)  # noqa: S311 - no secret
        return interval_ms / 1000


@dataclass(frozen=True, slots=True)
class Policy:
    retry: Retry | None = None
    strategy: Strategy = Strategy.ABORT
    defaults: Mapping[str, Json] = field(default_factory=dict)  # outputs for DEFAULT_VALUE
    timeout_seconds: float | None = None
    retry_safety: RetrySafety = RetrySafety.SAFE


NO_POLICY = Policy()


def read_policy(spec: NodeSpec, retry_defaults: Retry | None) -> tuple[Policy, list[Problem]]:
    """Return a node's policy and its problems. Without the ``retry_defaults`` of its kind a node is never retried."""
    problems: list[Problem] = []
    strategy, default_value = _read_strategy(spec, problems)
    has_defaults = strategy is Strategy.DEFAULT_VALUE
    defaults = _read_defaults(spec, default_value, problems) if has_defaults else {}
    retry = _read_retry(spec, retry_defaults, problems) if retry_defaults else None
    timeout = _read_number(spec, "timeout_secs", 0, problems)
    safety = _read_retry_safety(spec, problems)
    if safety is RetrySafety.NEVER and retry is not None:
        message = "The retries of this node are off, because it is never to be called again"
        problems.append(
            build_warning("policy.never_retried", message, node=spec.id, field="retry_safety")
        )
        retry = None
    policy = Policy(retry, strategy, defaults, timeout or None, safety)
    return NO_POLICY if policy == NO_POLICY else policy, problems


def has_fail_branch(data: Mapping[str, Json]) -> bool:
    """Return whether the run continues at a separate handle if the node fails."""
    return bool(_get_strategy(data) == Strategy.FAIL_BRANCH.value)


def handles_failure(data: Mapping[str, Json]) -> bool:
    """Return whether the run continues if the node fails."""
    return _get_strategy(data) in (Strategy.FAIL_BRANCH.value, Strategy.DEFAULT_VALUE.value)


def _get_strategy(data: Mapping[str, Json]) -> Json:
    strategy = data.get("error_strategy")
    return strategy.get("type") if isinstance(strategy, Mapping) else strategy


def _read_strategy(spec: NodeSpec, problems: list[Problem]) -> tuple[Strategy, Json]:
    strategy = spec.data.get("error_strategy")
    default_value = spec.data.get("default_value")
    if isinstance(strategy, Mapping):
        default_value = strategy.get("default_value", default_value)
        strategy = strategy.get("type")
    try:
        return Strategy(strategy or "none"), default_value
    except ValueError:
        message = "Error handling: choose one"
        problems.append(_build_problem(spec, "error_strategy", message))
        return Strategy.ABORT, default_value


def _read_retry_safety(spec: NodeSpec, problems: list[Problem]) -> RetrySafety:
    value = spec.data.get(RETRY_SAFETY) or RetrySafety.SAFE
    try:
        return RetrySafety(value)
    except ValueError:
        message = "If it's unclear whether a call was made: choose one"
        problems.append(_build_problem(spec, RETRY_SAFETY, message))
        return RetrySafety.SAFE


def _read_defaults(spec: NodeSpec, default_value: Json, problems: list[Problem]) -> dict[str, Json]:
    if isinstance(default_value, Mapping):
        return dict(default_value)
    defaults: dict[str, Json] = {}
    if default_value is not None and not isinstance(default_value, list | tuple):
        problems.append(_build_problem(spec, "default_value", "Default outputs must be a list"))
        return {}
    for index, item in enumerate(default_value or ()):
        try:
            defaults[item["key"]] = _convert_default(item.get("type", "string"), item.get("value"))
        except (KeyError, TypeError, AttributeError, ValueMismatch):
            message = "The default value doesn't match its type"
            problems.append(_build_problem(spec, f"default_value.{index}", message))
    return defaults


def _convert_default(type_name: str, value: Json) -> Json:
    value_type = parse_type(type_name)
    if value_type is None:
        raise ValueMismatch(f"Unknown type {type_name!r}")
    converted = parse_constant(value, value_type)
    # As in the reference engine, a string becomes a float even if it is a whole number.
    return float(converted) if isinstance(value, str) and value_type.is_number else converted


def _read_retry(spec: NodeSpec, defaults: Retry, problems: list[Problem]) -> Retry | None:
    config = spec.data.get("retry_config")
    if not isinstance(config, Mapping):
        return None
    # Off by default, as in Dify; the reader for xworkflow, which has no flag, sets it.
    retries = _read_number(spec, f"{_RETRY}.max_retries", defaults.max_retries, problems)
    if not config.get("retry_enabled", False) or not retries:
        return None
    interval = _read_number(spec, f"{_RETRY}.retry_interval", defaults.interval_ms, problems)
    try:
        backoff = Backoff(config.get("backoff_strategy") or defaults.backoff)
    except ValueError:
        path = f"{_RETRY}.backoff_strategy"
        problems.append(_build_problem(spec, path, "Unknown backoff strategy"))
        backoff = defaults.backoff
    only_retryable = defaults.only_retryable or "backoff_strategy" in config
    return Retry(
        max_retries=int(retries),
        interval_ms=interval,
        backoff=backoff,
        multiplier=_read_number(spec, f"{_RETRY}.backoff_multiplier", 0, problems)
        or defaults.multiplier,
        max_interval_ms=_read_number(spec, f"{_RETRY}.max_retry_interval", 0, problems)
        or defaults.max_interval_ms,
        only_retryable=bool(config.get("retry_on_retryable_only", only_retryable)),
    )


def _read_number(spec: NodeSpec, path: str, default: float, problems: list[Problem]) -> float:
    value: Json = spec.data
    for key in path.split("."):
        value = value.get(key)
    if value is None or (isinstance(value, str) and not value.strip()):
        return default
    number = read_count(value)
    if number is not None:
        return number
    problems.append(_build_problem(spec, path, "Enter a number, zero or greater"))
    return default


def read_count(value: Json) -> float | None:
    """Return a number that is zero or greater, also of text, as some exports write it; None for anything else."""
    if isinstance(value, str):
        try:
            value = parse_number(value)
        except ValueMismatch:
            return None
    return value if is_number(value) and 0 <= value < math.inf else None


def _build_problem(spec: NodeSpec, path: str, message: str) -> Problem:
    return Problem("policy.invalid", message, node=spec.id, field=path)
