"""The offline provider, which answers without a key, a network or a language model.

It quotes the sentences of the request that have most in common with the question, says when there are none, and
acknowledges statements. A request for other work, such as writing, fails. It calls a tool only if the question names it or the author of the node has written a script
(``offline_script``). Equal requests have equal answers, each with a label that says where it comes from.
"""

import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from workflows.engine.errors import ModelNeeded
from workflows.engine.ports import ModelChunk, ModelRequest, ModelSource, Usage
from workflows.llm.config import OFFLINE
from workflows.llm.offline import context, words
from workflows.llm.offline.context import Candidate, Material
from workflows.llm.offline.filling import fill_schema, find_schema
from workflows.llm.offline.phrases import LABELS, PHRASES
from workflows.llm.offline.reply import Reply
from workflows.llm.offline.script import play_script
from workflows.llm.offline.text_task import solve_task
from workflows.llm.offline.tool_choice import choose_call
from workflows.llm.tokens import estimate_request, estimate_text


_MAX_QUOTED = 3
_MAX_LENGTH = 400  # characters of a quoted sentence
_ENDS_OF_DATA = ("}", "]", "```")
_PIECES = re.compile(r"\s*\S+\s*|\s+")
_CJK_PIECE = re.compile(r"[\u3400-\u9fff]{1,4}[，。！？：、]?|[^\u3400-\u9fff]+")


SOURCE = ModelSource(OFFLINE, OFFLINE)


class OfflineModels:
    """The ``ModelPort`` that answers every request offline, whichever provider the request names."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = build_reply(request)
        if reply.reasoning:
            yield ModelChunk(reasoning=reply.reasoning)
        for piece in _split_pieces(reply.text):
            yield ModelChunk(text=piece)
        written = [reply.text, reply.reasoning]
        written += [call.name + call.arguments for call in reply.tool_calls]
        yield ModelChunk(
            tool_calls=reply.tool_calls,
            finish_reason="tool_calls" if reply.tool_calls else "stop",
            usage=Usage(estimate_request(request), sum(map(estimate_text, written))),
            label=reply.label,
            source=SOURCE,
        )


def build_reply(request: ModelRequest) -> Reply:
    """Return the whole answer, which depends on the request alone.

    Raises ModelFailed for an invalid script, and ModelNeeded for work that only a language model can do.
    """
    if scripted := play_script(request, lambda: _list_memories(request)):
        return replace(scripted, label=_choose_label(scripted, request))
    if solution := solve_task(request):
        return solution
    material = context.collect_material(request)
    ranked = _rank_candidates(material)
    texts = [candidate.text for candidate in ranked]
    if calls := choose_call(request, material.question, texts):
        return Reply(tool_calls=calls)
    schema = find_schema(request)
    if schema is not None:
        value = fill_schema(schema, material.question, texts)
        return Reply(json.dumps(value, ensure_ascii=False))
    language = _get_language(material.question)
    return Reply(_compose_answer(material, ranked, PHRASES[language]) + LABELS[language])


def build_answer(request: ModelRequest) -> str:
    """Return the whole answer as people read it."""
    reply = build_reply(request)
    return reply.text + reply.label


def _get_language(text: str) -> str:
    return "zh" if words.is_chinese(text) else "en"


def _list_memories(request: ModelRequest) -> str:
    ranked = _rank_candidates(context.collect_material(request))
    recalled = [candidate.text for candidate in ranked if candidate.origin == context.RECALLED]
    return "\n".join(recalled[:_MAX_QUOTED])


def _choose_label(reply: Reply, request: ModelRequest) -> str:
    """Return the label of a scripted answer, or an empty text for JSON, which no person reads."""
    text = reply.text.rstrip()
    is_for_program = bool(request.json_schema) or text.endswith(_ENDS_OF_DATA)
    return "" if is_for_program or not text else LABELS[_get_language(text)]


def _compose_answer(
    material: Material, ranked: Sequence[Candidate], phrases: dict[str, str]
) -> str:
    question = material.question.strip()
    if not question:
        return phrases["empty"]
    if results := [candidate for candidate in ranked if candidate.origin == context.TOOL]:
        best = _select_best(results, words.extract_features(question)) or results[:_MAX_QUOTED]
        return phrases["tool"] + _quote(best)
    if words.is_greeting(question):
        return phrases["hello"]
    if words.is_question(question):
        return _answer_question(material, ranked, phrases)
    if words.is_command(question):
        raise ModelNeeded
    return phrases["noted"] + _shorten(question)


def _answer_question(
    material: Material, ranked: Sequence[Candidate], phrases: dict[str, str]
) -> str:
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
