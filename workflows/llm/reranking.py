"""Asks an endpoint to score documents: ``POST {base}/rerank``, as Jina, Cohere, vLLM and others have it.

Text Embeddings Inference names the documents ``texts`` and answers with a bare list of ``score``. It refuses the common
form, after which the request is sent in its own.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import openai
from openai import AsyncOpenAI

from workflows.engine.ports import RerankRequest, RerankResult, Usage


PATH: Final = "/rerank"
_REFUSALS: Final = (openai.BadRequestError, openai.UnprocessableEntityError)


async def send_rerank(
    client: AsyncOpenAI, request: RerankRequest, model: str, headers: Mapping[str, str]
) -> RerankResult:
    """Return the scores. Raises what the openai package raises, and ValueError for an answer without scores."""
    body = {
        "model": model,
        "query": request.query,
        "documents": list(request.documents),
        "top_n": request.top_n,
    }
    try:
        answer = await _post(client, body, headers)
    except _REFUSALS as error:
        if "texts" not in f"{error.message} {error.body!r}":
            raise
        tei_body = {"query": request.query, "texts": list(request.documents), "truncate": True}
        answer = await _post(client, tei_body, {})
    scores = read_scores(answer, len(request.documents))
    return RerankResult(scores[: request.top_n], read_usage(answer))


def read_scores(answer: Any, count: int) -> tuple[tuple[int, float], ...]:
    """Return the index and the score of each scored document, best first. Raises ValueError for any other answer."""
    items = answer
    if isinstance(answer, Mapping):
        items = answer.get("results", answer.get("data"))
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise ValueError("The answer has no list of results")
    scores: dict[int, float] = {}
    for item in items:
        index, score = _read_item(item)
        if not 0 <= index < count or index in scores:
            raise ValueError(
                f"The answer scores a document {index}, which was not asked or was scored before"
            )
        scores[index] = score
    return tuple(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


def read_usage(answer: Any) -> Usage | None:
    """Return the tokens that the provider counted, or None if it says nothing of them."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    tokens = usage.get("prompt_tokens") or usage.get("total_tokens")
    return Usage(prompt_tokens=tokens) if isinstance(tokens, int) else None


async def _post(client: AsyncOpenAI, body: dict[str, Any], headers: Mapping[str, str]) -> Any:
    return await client.post(PATH, cast_to=object, body=body, options={"headers": dict(headers)})


def _read_item(item: Any) -> tuple[int, float]:
    if not isinstance(item, Mapping):
        raise ValueError("A result is not an object")
    index, score = item.get("index"), item.get("relevance_score", item.get("score"))
    if isinstance(index, bool) or not isinstance(index, int):
        raise ValueError("A result has no index")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise ValueError("A result has no score")
    return index, float(score)
