"""The offline provider, which answers without a key, a network or a language model.

It quotes the sentences of the request that have most in common with the question, says when there are none, and
acknowledges statements. Equal requests have equal answers, each with a label that says where it comes from.
"""

import json
import re
from collections.abc import AsyncIterator, Sequence

from workflows.engine.ports import ModelChunk, ModelRequest, Usage
from workflows.llm.offline import context, words
from workflows.llm.offline.context import Candidate, Material
from workflows.llm.offline.filling import fill_schema, find_schema
from workflows.llm.offline.phrases import LABELS, PHRASES
from workflows.llm.tokens import estimate_messages, estimate_text


_MAX_QUOTED = 3
_MAX_LENGTH = 400  # characters of a quoted sentence
_PIECES = re.compile(r"\s*\S+\s*|\s+")
_CJK_PIECE = re.compile(r"[\u3400-\u9fff]{1,4}[，。！？：、]?|[^\u3400-\u9fff]+")


class OfflineModels:
    """The ``ModelPort`` that answers every request offline, whichever provider the request names."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        text = build_answer(request)
        for piece in _split_pieces(text):
            yield ModelChunk(text=piece)
        usage = Usage(estimate_messages(request.messages), estimate_text(text))
        yield ModelChunk(finish_reason="stop", usage=usage)


def build_answer(request: ModelRequest) -> str:
    """Return the whole answer, which depends on the request alone."""
    material = context.collect_material(request)
    schema = find_schema(request)
    if schema is not None:
        ranked = [candidate.text for candidate in _rank_candidates(material)]
        return json.dumps(fill_schema(schema, material.question, ranked), ensure_ascii=False)
    language = "zh" if words.is_chinese(material.question) else "en"
    return _compose_answer(material, PHRASES[language]) + LABELS[language]


def _compose_answer(material: Material, phrases: dict[str, str]) -> str:
    question = material.question.strip()
    if not question:
        return phrases["empty"]
    if words.is_greeting(question):
        return phrases["hello"]
    if words.is_question(question):
        return _answer_question(material, phrases)
    if words.is_command(question):
        return _answer_command(material, phrases)
    return phrases["noted"] + _shorten(question)


def _answer_question(material: Material, phrases: dict[str, str]) -> str:
    ranked = _rank_candidates(material)
    best = _select_best(ranked, words.extract_features(material.question))
    if best:
        phrase_name = "prompt" if best[0].origin == context.PROMPT else "remember"
        return phrases[phrase_name] + _quote(best)
    # No memory shares a word with the question, but the workflow recalled these for it, as a search by meaning does.
    # The answer says so, which is better than no answer or a pretended match.
    recalled = [candidate for candidate in ranked if candidate.origin == context.RECALLED]
    if recalled:
        return phrases["closest"] + _quote(recalled[:1])
    return phrases["unknown"]


def _answer_command(material: Material, phrases: dict[str, str]) -> str:
    """Return an answer that quotes the text of the task, or else the most relevant sentence."""
    sentences = words.split_sentences(material.question)
    task_text = sentences[0].partition(":")[2].strip() or " ".join(sentences[1:])
    if task_text:
        return phrases["command"] + phrases["prompt"] + f"“{_shorten(task_text)}”"
    ranked = _rank_candidates(material)
    if ranked:
        return phrases["command"] + phrases["prompt"] + _quote(ranked[:1])
    return phrases["command"].strip()


def _rank_candidates(material: Material) -> list[Candidate]:
    question_features = words.extract_features(material.question)
    return sorted(
        material.candidates,
        key=lambda candidate: (
            -words.measure_overlap(question_features, candidate.features),
            -candidate.origin,
            -candidate.score,
            candidate.rank,
        ),
    )


def _select_best(ranked: Sequence[Candidate], question_features: frozenset[str]) -> list[Candidate]:
    """Return the best sentence, and those of the same origin that match the question equally well."""
    if not ranked:
        return []
    best_overlap = words.measure_overlap(question_features, ranked[0].features)
    origin = ranked[0].origin
    # A single shared concept is too little to quote a prompt.
    if not best_overlap or (origin == context.PROMPT and best_overlap < 1):
        return []
    return [
        candidate
        for candidate in ranked
        if candidate.origin == origin
        and words.measure_overlap(question_features, candidate.features) >= best_overlap
    ][:_MAX_QUOTED]


def _quote(candidates: Sequence[Candidate]) -> str:
    return " ".join(f"“{_shorten(candidate.text)}”" for candidate in candidates)


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1].rstrip() + "…"


def _split_pieces(text: str) -> list[str]:
    """Split a text into words, or Chinese text, which has no spaces, into a few characters at a time."""
    return [
        piece
        for word in _PIECES.findall(text)
        for piece in (_CJK_PIECE.findall(word) if words.is_chinese(word) else [word])
        if piece
    ]
