"""The definitions of the numbers of usage. Every page, the API and exports take them from here.

- A **run** is an execution that a person, an API client or a trigger started, and that has ended. A sub-workflow's run isn't
  counted by itself. A run belongs to the day, in UTC, on which it was created.
- An **error** is a run whose status is *Failed*. Handled failures (*Partially succeeded*) and stopped runs are no errors.
  The **error rate** is the share of failed runs among those that weren't stopped.
- The **latency** of a run is the time from its first step to its end. Runs that were stopped, and runs that waited for
  a person, a time or another run, have none.
- A **model call** is a step that asks a model, also for the facts or the summary that memory stores, the ranking of pages
  and memories by a model, or one call of an agent. The embedding of texts for memory is a call too: that of a question counts
  for the run that asks, or else for who asks, and that of memories, in the background, for nobody. Calls of
  sub-workflows count, each once, for the workflow whose run somebody started: its row has the tokens that the list of
  runs shows. Reused steps of debug runs and mocked steps are no calls. The latency of a call includes its retries.
- A call counts for the provider and the model that answered, also where a mapping or the team's default model stands in
  for what the document names. A call that failed before a model was asked counts for the one that would have answered.
- **Tokens** and **cost** are those of model calls. The cost follows the prices at the time of the call; changing a
  price doesn't change the past. A call whose model had no price adds tokens but no cost.
- **Seconds of code** are those of code nodes, counted as calls are; reused and mocked steps have none.
- **Liked** and **disliked** count the feedback on runs of the day. Feedback is deleted with its run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from workflows.engine.nodes.agent.session import MODEL_KIND


# The kinds of steps that are model calls; an agent's calls are parts of its step.
MODEL_STEP_KINDS: Final = ("llm", "question-classifier", "parameter-extractor")
# The steps of these kinds may have a call of a reranking model, which their inputs record.
RANKING_STEP_KINDS: Final = ("knowledge-retrieval", "memory-recall")
# Memory nodes that may ask a model for themselves: for facts, summaries, and what to search. Their steps are calls if they did.
HELPED_STEP_KINDS: Final = ("memory-store", "conversation-memory", "knowledge-retrieval")
AGENT_STEP_KIND: Final = "agent"
CODE_STEP_KIND: Final = "code"
AGENT_CALL_KIND: Final = MODEL_KIND

# Latencies are counted in buckets: bucket n holds the seconds from FIRST * GROWTH**(n-1) up to FIRST * GROWTH**n.
FIRST_BUCKET: Final = 0.01
BUCKET_GROWTH: Final = 1.5
LAST_BUCKET: Final = 40
NO_LATENCY: Final = -1


class Latencies(NamedTuple):
    """The latencies of one bucket: how many there are, and their sum in seconds."""

    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a selection of runs or of model calls. ``count`` is the number of runs, or of calls."""

    count: int = 0
    failed: int = 0
    stopped: int = 0
    seconds: float = 0.0
    buckets: Mapping[int, Latencies] = field(default_factory=dict)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced_calls: int = 0
    liked: int = 0
    disliked: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def error_rate(self) -> float | None:
        """Return the share of errors from 0 to 1, or None without a run that wasn't stopped."""
        rated = self.count - self.stopped
        return self.failed / rated if rated else None

    @property
    def average_latency(self) -> float | None:
        measured = sum(bucket.number for bucket in self.buckets.values())
        return self.seconds / measured if measured else None

    @property
    def median_latency(self) -> float | None:
        return estimate_percentile(self.buckets, 0.5)

    @property
    def p95_latency(self) -> float | None:
        return estimate_percentile(self.buckets, 0.95)

    def __add__(self, other: Numbers) -> Numbers:
        buckets = dict(self.buckets)
        for number, (count, seconds) in other.buckets.items():
            before = buckets.get(number, Latencies(0, 0.0))
            buckets[number] = Latencies(before.number + count, before.seconds + seconds)
        return Numbers(
            self.count + other.count,
            self.failed + other.failed,
            self.stopped + other.stopped,
            self.seconds + other.seconds,
            buckets,
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
            self.unpriced_calls + other.unpriced_calls,
            self.liked + other.liked,
            self.disliked + other.disliked,
        )


def get_bucket(seconds: float) -> int:
    """Return the bucket of a latency, as the query that counts runs does."""
    if seconds <= FIRST_BUCKET:
        return 0
    return min(math.ceil(math.log(seconds / FIRST_BUCKET) / math.log(BUCKET_GROWTH)), LAST_BUCKET)


def estimate_percentile(buckets: Mapping[int, Latencies], share: float) -> float | None:
    """Return the latency in seconds that this share of the runs didn't exceed, or None without any latency.

    It is interpolated within its bucket, around the average there: the latency of a single run is its own, and another
    estimate is off by a quarter at most, usually by less than a tenth.
    """
    rank = share * sum(bucket.number for bucket in buckets.values())
    if not rank:
        return None
    below = 0
    for number, (count, seconds) in sorted(buckets.items()):
        if below + count >= rank:
            return _interpolate(number, count, seconds / count, (rank - below) / count)
        below += count
    return None


def _interpolate(bucket: int, count: int, average: float, position: float) -> float:
    """Return the latency at a position from 0 to 1 in a bucket whose latencies lie evenly around their average."""
    low = FIRST_BUCKET * BUCKET_GROWTH ** (bucket - 1) if bucket else 0.0
    high = FIRST_BUCKET * BUCKET_GROWTH**bucket
    reach = max(0.0, min(average - low, high - average)) * (1 - 1 / count)
    return average + reach * (2 * position - 1)
