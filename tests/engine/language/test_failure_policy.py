"""The policy of a node: what its data says, and its kind's defaults where the data says nothing."""

import pytest

from tests.support.cases import for_each
from tests.support.documents import node
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.failure_policy import Backoff, Retry, RetrySafety, read_policy
from workflows.engine.nodes import NODE_KINDS
from workflows.views.editor.inspector.policy import build_retry_field


DEFAULTS = Retry(max_retries=4, interval_ms=250, backoff=Backoff.JITTER)


@for_each(
    "written, retry",
    [
        ({"retry_enabled": True}, DEFAULTS),
        ({"retry_enabled": True, "max_retries": 1}, Retry(1, 250, Backoff.JITTER)),
        ({"retry_enabled": True, "retry_interval": 0}, Retry(4, 0, Backoff.JITTER)),
        ({"retry_enabled": True, "max_retries": 0}, None),
        (
            {"retry_enabled": True, "max_retries": "3", "retry_interval": "100"},
            Retry(3, 100, Backoff.JITTER),
        ),
        (
            {"retry_enabled": True, "max_retries": "", "backoff_multiplier": " 3 "},
            Retry(4, 250, Backoff.JITTER, multiplier=3),
        ),
        ({"max_retries": 4}, None),  # not switched on
        (None, None),
    ],
)
def test_retry_settings_that_a_node_lacks_are_those_of_its_kind(written, retry):
    policy, problems = read_policy(node("a", "llm", retry_config=written), DEFAULTS)

    assert (policy.retry, problems) == (retry, [])


def test_node_of_a_kind_without_retries_never_runs_again():
    written = {"retry_enabled": True, "max_retries": 3}

    policy, _ = read_policy(node("a", "answer", retry_config=written), None)

    assert policy.retry is None


@pytest.mark.parametrize("kind", [kind for kind in NODE_KINDS if kind.retry], ids=lambda k: k.name)
def test_form_shows_the_retries_that_a_run_would_make(kind: AnyKind):
    assert kind.retry is not None
    shown = {field.name: field.default for field in build_retry_field(kind.retry).fields}
    written = {name: shown[name] for name in ("max_retries", "retry_interval")}

    default, _ = read_policy(_retrying(kind), kind.retry)
    as_shown, _ = read_policy(_retrying(kind, **written), kind.retry)

    assert default.retry == as_shown.retry == kind.retry
    assert shown["backoff_strategy"] == kind.retry.backoff


@pytest.mark.parametrize(
    ("written", "safety"),
    [(None, RetrySafety.SAFE), ("safe", RetrySafety.SAFE), ("ask", RetrySafety.ASK)],
)
def test_retry_safety_is_safe_unless_the_node_says_otherwise(written, safety):
    policy, problems = read_policy(node("a", "http-request", retry_safety=written), DEFAULTS)

    assert (policy.retry_safety, problems) == (safety, [])


def test_node_that_is_never_called_again_makes_no_retries_and_the_author_is_warned():
    written = {"retry_enabled": True}
    spec = node("a", "http-request", retry_safety="never", retry_config=written)

    policy, [problem] = read_policy(spec, DEFAULTS)

    assert (policy.retry_safety, policy.retry) == (RetrySafety.NEVER, None)
    assert (problem.code, problem.severity) == ("policy.never_retried", "warning")


def test_unknown_retry_safety_is_a_problem_of_its_field():
    _, [problem] = read_policy(node("a", "llm", retry_safety="maybe"), DEFAULTS)

    assert (problem.code, problem.field) == ("policy.invalid", "retry_safety")


def _retrying(kind: AnyKind, **settings: Json) -> NodeSpec:
    return node("a", kind.name, retry_config={"retry_enabled": True, **settings})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("retry_config.max_retries", "many"),
        ("retry_config.max_retries", True),
        ("retry_config.backoff_multiplier", []),
        ("retry_config.max_retry_interval", "nan"),
        ("retry_config.backoff_strategy", [1]),
        ("default_value", 3),
    ],
)
def test_settings_of_the_wrong_type_are_problems_of_their_fields(field: str, value: Json):
    data: dict[str, Json] = {
        "error_strategy": "default-value",
        "retry_config": {"retry_enabled": True},
    }
    *path, name = field.split(".")
    holder: dict[str, Json] = data["retry_config"] if path else data
    holder[name] = value

    _policy, problems = read_policy(node("a", "llm", **data), DEFAULTS)

    assert [problem.field for problem in problems] == [field]
