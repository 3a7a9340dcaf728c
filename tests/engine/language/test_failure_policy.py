"""The policy of a node: what its data says, and its kind's defaults where the data says nothing."""

import pytest

from tests.support.documents import node
from workflows.engine.kinds import AnyKind
from workflows.engine.language.document import Json, NodeSpec
from workflows.engine.language.failure_policy import Backoff, Retry, read_policy
from workflows.engine.nodes import NODE_KINDS
from workflows.views.editor.inspector.policy import build_retry_field


DEFAULTS = Retry(max_retries=4, interval_ms=250, backoff=Backoff.JITTER)


@pytest.mark.parametrize(
    ("written", "retry"),
    [
        ({"retry_enabled": True}, DEFAULTS),
        ({"retry_enabled": True, "max_retries": 1}, Retry(1, 250, Backoff.JITTER)),
        ({"retry_enabled": True, "retry_interval": 0}, Retry(4, 0, Backoff.JITTER)),
        ({"retry_enabled": True, "max_retries": 0}, None),
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


def _retrying(kind: AnyKind, **settings: Json) -> NodeSpec:
    return node("a", kind.name, retry_config={"retry_enabled": True, **settings})
