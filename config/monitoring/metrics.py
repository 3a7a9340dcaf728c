"""The Prometheus metrics of web servers and workers.

No label has a value that people choose, such as the name of a model or a workflow: their number has no bound, and they
belong to a team.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from prometheus_client import Counter, Histogram


# Seconds, from a quick template to a run of twenty minutes.
_BUCKETS: Final = (0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1200)

RUNS_ENDED = Counter(
    "mnemoflow_runs_ended", "Attempts at runs that ended or paused in this worker.", ["status"]
)
STEPS = Counter("mnemoflow_steps", "Steps that ended in this worker.", ["kind", "status"])
STEP_SECONDS = Histogram(
    "mnemoflow_step_seconds", "Duration of a step.", ["kind"], buckets=_BUCKETS
)
TOKENS = Counter("mnemoflow_tokens", "Tokens of model calls.", ["direction"])
MODEL_CALLS = Counter(
    "mnemoflow_model_calls",
    "Calls of models; a retry is a call of its own.",
    ["provider", "result"],
)
MODEL_SECONDS = Histogram(
    "mnemoflow_model_seconds", "Duration of a model call.", ["provider"], buckets=_BUCKETS
)
MODEL_FIRST_SECONDS = Histogram(
    "mnemoflow_model_first_seconds",
    "Time from a model call to its first chunk.",
    ["provider"],
    buckets=_BUCKETS,
)
REQUESTS = Counter(
    "mnemoflow_requests", "Requests to this web server.", ["area", "method", "status"]
)
REQUEST_SECONDS = Histogram(
    "mnemoflow_request_seconds",
    "Time from a request to the first byte of its response.",
    ["area"],
    buckets=_BUCKETS,
)


def count_steps(kind: str, status: str, durations: Sequence[float]) -> None:
    """Count steps of one kind that ended with this status, by their durations in seconds."""
    counter, histogram = _get_step_metrics(kind, status)
    counter.inc(len(durations))
    for seconds in durations:
        histogram.observe(max(seconds, 0.0))


@cache
def _get_step_metrics(kind: str, status: str) -> tuple[Counter, Histogram]:
    """Return the metrics of these labels. To find them among all labels takes longer than to count."""
    return STEPS.labels(kind, status), STEP_SECONDS.labels(kind)


def count_tokens(prompt: int, completion: int) -> None:
    if prompt > 0:
        TOKENS.labels("prompt").inc(prompt)
    if completion > 0:
        TOKENS.labels("completion").inc(completion)
