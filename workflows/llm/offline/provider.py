"""The offline provider: deterministic, extractive, labelled; needs no key and no network.

It is not a language model. It quotes the sentences of the request that have most in common with
what was asked, says when there are none, and acknowledges what it is told.
"""

import json
import re
from collections.abc import AsyncIterator, Sequence

from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.llm.offline import context, words
from workflows.llm.offline.context import Candidate, Material
from workflows.llm.offline.filling import fill, wants_json
from workflows.llm.offline.phrases import LABELS, PHRASES
from workflows.llm.tokens import estimate_messages, estimate_text


__all__ = ["LABELS", "OfflineModels", "answer"]

_MAX_QUOTED = 3
_MAX_LENGTH = 400
_PIECES = re.compile(r"\s*\S+\s*|\s+")
_CJK_PIECE = re.compile(r"[\u3400-\u9fff]{1,4}[，。！？：、]?|[^\u3400-\u9fff]+")


class OfflineModels:
    """Answers every request, whatever provider it names."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        text = answer(request)
        for piece in _pieces(text):
            yield ModelChunk(text=piece)
        usage = Usage(estimate_messages(request.messages), estimate_text(text))
        yield ModelChunk(finish_reason="stop", usage=usage)


def answer(request: ModelRequest) -> str:
    """The whole answer; a pure function of the request."""
    material = context.gather(request)
    schema = wants_json(request)
    if schema is not None:
        ranked = [candidate.text for candidate in _ranked(material)]
        return json.dumps(fill(schema, material.question, ranked), ensure_ascii=False)
    language = "zh" if words.is_chinese(material.question) else "en"
    return _say(material, PHRASES[language]) + LABELS[language]


def _say(material: Material, phrases: dict[str, str]) -> str:
    asked = material.question.strip()
    if not asked:
        return phrases["empty"]
    if words.is_greeting(asked):
        return phrases["hello"]
    if words.is_question(asked):
        return _reply(material, phrases)
    if words.is_command(asked):
        return _gist(material, phrases)
    return phrases["noted"] + _cut(asked)


def _reply(material: Material, phrases: dict[str, str]) -> str:
    ranked = _ranked(material)
    best = _best(ranked, words.features(material.question))
    if best:
        frame = "prompt" if best[0].origin == context.PROMPT else "remember"
        return phrases[frame] + _quoted(best)
    # Nothing shares a word with the question, yet the workflow looked these up for it: a recall by
    # meaning does that. Saying so beats both silence and pretending.
    recalled = [candidate for candidate in ranked if candidate.origin == context.RECALLED]
    if recalled:
        return phrases["closest"] + _quoted(recalled[:1])
    return phrases["unknown"]


def _gist(material: Material, phrases: dict[str, str]) -> str:
    """A task for a real model: what it would have been given, most relevant first."""
    parts = words.sentences(material.question)
    body = parts[0].partition(":")[2].strip() or " ".join(parts[1:])
    if body:
        return phrases["command"] + phrases["prompt"] + f"“{_cut(body)}”"
    ranked = _ranked(material)
    if ranked:
        return phrases["command"] + phrases["prompt"] + _quoted(ranked[:1])
    return phrases["command"].strip()


def _ranked(material: Material) -> list[Candidate]:
    asked = words.features(material.question)
    return sorted(
        material.candidates,
        key=lambda it: (
            -words.overlap(asked, it.about),
            -it.origin,
            -it.score,
            it.rank,
        ),
    )


def _best(ranked: Sequence[Candidate], asked: frozenset[str]) -> list[Candidate]:
    """The best sentence, and those that fit equally well from the same kind of source."""
    if not ranked or not (top := words.overlap(asked, ranked[0].about)):
        return []
    origin = ranked[0].origin
    if origin == context.PROMPT and top < 1:  # one vague concept is no reason to quote a prompt
        return []
    return [
        candidate
        for candidate in ranked
        if candidate.origin == origin and words.overlap(asked, candidate.about) >= top
    ][:_MAX_QUOTED]


def _quoted(candidates: Sequence[Candidate]) -> str:
    return " ".join(f"“{_cut(candidate.text)}”" for candidate in candidates)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1].rstrip() + "…"


def _pieces(text: str) -> list[str]:
    """Word by word; Chinese, which has no spaces, a few characters at a time."""
    return [
        piece
        for word in _PIECES.findall(text)
        for piece in (_CJK_PIECE.findall(word) if words.is_chinese(word) else [word])
        if piece
    ]
