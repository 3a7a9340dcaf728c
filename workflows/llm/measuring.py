"""Counts and times the calls of models for monitoring."""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TypeVar

from config.monitoring.metrics import MODEL_CALLS, MODEL_FIRST_SECONDS, MODEL_SECONDS
from config.monitoring.tracing import record_span
from workflows.engine.errors import ModelFailed


T = TypeVar("T")


async def measure_call(provider_kind: str, chunks: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """Yield the chunks of one call. A call that its run gave up counts as stopped, not as an error."""
    called_at, started_at = time.time(), time.perf_counter()
    has_begun, outcome = False, "stopped"
    try:
        async with aclosing(chunks):  # type: ignore[type-var]  # every port is a generator
            async for chunk in chunks:
                if not has_begun:
                    has_begun = True
                    MODEL_FIRST_SECONDS.labels(provider_kind).observe(
                        time.perf_counter() - started_at
                    )
                yield chunk
        outcome = "ok"
    except ModelFailed as failure:
        outcome = "retryable" if failure.retryable else "failed"
        raise
    finally:
        MODEL_CALLS.labels(provider_kind, outcome).inc()
        seconds = time.perf_counter() - started_at
        MODEL_SECONDS.labels(provider_kind).observe(seconds)
        record_span("model call", called_at, seconds, provider=provider_kind, result=outcome)
