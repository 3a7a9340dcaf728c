"""The offline provider, which answers without a key, a network or a language model.

It quotes the sentences of the request that have most in common with the question, says when there are none, and
acknowledges statements. A request for other work, such as writing, fails. It calls a tool only if the question names it or the author of the node has written a script
(``offline_script``). Equal requests have equal answers, each with a label that says where it comes from.
"""

import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from workflows.engine.errors import ModelNeeded
from workflows.engine.ports import ModelChunk, ModelRequest, ModelSource, Usage
from workflows.engine.sentences import is_chinese, is_mostly_ideographic
from workflows.llm.config import OFFLINE
from workflows.llm.offline import context, words
from workflows.llm.offline.context import Candidate, Material, QuestionKind
from workflows.llm.offline.filling import fill_schema, find_schema
from workflows.llm.offline.phrases import LABELS, PHRASES
from workflows.llm.offline.remembering import find_wish, list_stored
from workflows.llm.offline.reply import Reply
from workflows.llm.offline.script import SCRIPT, play_script
from workflows.llm.offline.sentences import is_command, is_greeting
from workflows.llm.offline.text_task import solve_task
from workflows.llm.offline.tool_choice import choose_call
from workflows.llm.tokens import estimate_request, estimate_text


_MAX_QUOTED = 3
_MAX_IMAGE_NAME = 80
_MAX_LENGTH = 400  # characters of a quoted sentence
# A memory with this share of the question answers it by its words; the first recalled one needs less.
_SUFFICIENT_COVERAGE = 0.3
_SUFFICIENT_COVERAGE_OF_FIRST = 0.2
# A part of a question has few words, so that one in common is less often by chance.
_SUFFICIENT_COVERAGE_OF_PART = 0.25
# Without such words, recalled memories are quoted whose score is at least this share of the best one's.
_NEAR_SCORE = 0.5
_MEMORIES = (context.RECALLED, context.PROFILE)
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
            usage=_estimate_usage(request, written),
            label=reply.label,
            source=SOURCE,
        )

    async def is_offline(self, request: ModelRequest) -> bool:
        return SCRIPT not in request.params


def _name_url(url: str) -> str:
    return "" if url.startswith("data:") else urlsplit(url).path.rpartition("/")[2]


def _estimate_usage(request: ModelRequest, written: Sequence[str]) -> Usage:
    """Return the tokens that a model might use."""
    return Usage(estimate_request(request), sum(map(estimate_text, written)))


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
    phrases = PHRASES[language]
    if names := _name_images(request):
        # What was asked is most likely about the images, so that nothing else is an answer to it.
        return Reply(phrases["images"].format(names=names).strip() + LABELS[language])
    if stored := list_stored(request):
        return Reply(_confirm(stored, material.question, phrases) + LABELS[language])
    return Reply(_compose_answer(material, ranked, phrases) + LABELS[language])


def _confirm(stored: Sequence[str], question: str, phrases: dict[str, str]) -> str:
    """Say what was stored, and that nothing else of the question was done."""
    wish = find_wish(question)
    quotes = " ".join(f"“{_shorten(fact)}”" for fact in stored)
    return phrases["stored"] + quotes + (phrases["more"] if wish is None or wish.asks_more else "")


def _name_images(request: ModelRequest) -> str:
    images = [image for message in request.messages for image in message.images]
    names = [image.name or _name_url(image.url) for image in images]
    quoted_names = [name[:_MAX_IMAGE_NAME] or "?" for name in names[:_MAX_QUOTED]]
    more = len(names) - len(quoted_names)
    return ", ".join(quoted_names) + (f" (+{more})" if more > 0 else "")


def build_answer(request: ModelRequest) -> str:
    """Return the whole answer as people read it."""
    reply = build_reply(request)
    return reply.text + reply.label


def _get_language(text: str) -> str:
    return "zh" if is_chinese(text) else "en"


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
    if is_greeting(question):
        return phrases["hello"]
    if material.kind is QuestionKind.WISH_TO_FORGET:
        # What was forgotten is known only after this answer, so that the chat says it below.
        return phrases["forget"]
    if material.kind is QuestionKind.QUESTION:
        return _answer_question(material, ranked, phrases)
    if is_command(question) and material.kind is not QuestionKind.NOTE:
        raise ModelNeeded
    if material.kind is QuestionKind.REQUEST:
        return phrases["command"].strip()
    if material.kind is QuestionKind.REMARK:
        return phrases["heard"]
    return phrases["noted"] + _shorten(question)


def _answer_question(
    material: Material, ranked: Sequence[Candidate], phrases: dict[str, str]
) -> str:
    question_features = words.extract_features(material.question)
    recalled = [item for item in material.candidates if item.origin == context.RECALLED]
    best = _find_best(material, ranked, recalled, question_features)
    sure = _list_sure(best, ranked, recalled, question_features)
    parts = _answer_parts(material)
    if parts and (not sure or sure[0].origin in _MEMORIES):
        # The memories of all parts, or else what the whole question has besides.
        answered = [candidate for part in parts for candidate in part]
        sure = answered if all(parts) else [*answered, *sure]
        return phrases["remember"] + _quote([*dict.fromkeys(sure)][: max(_MAX_QUOTED, len(parts))])
    if sure:
        phrase_name = "prompt" if sure[0].origin == context.PROMPT else "remember"
        return phrases[phrase_name] + _quote(sure)
    # No memory has much of the question, but the workflow recalled these for it, as a search by meaning does. The answer
    # says so, which is better than no answer or a pretended match.
    if recalled:
        return phrases["closest"] + _quote(_list_closest(recalled, best))
    return phrases["unknown"]


def _answer_parts(material: Material) -> list[list[Candidate]]:
    """Return for each part of a question the memories that answer it; nothing if it has one part or none is answered."""
    parts = words.split_parts(material.question)
    answers = [_answer_part(part, material) for part in parts] if len(parts) > 1 else []
    return answers if any(answers) else []


def _answer_part(part: str, material: Material) -> list[Candidate]:
    features = words.extract_features(part)
    best = _select_best(_rank_candidates(replace(material, question=part)), features)
    is_answered = (
        best
        and best[0].origin in _MEMORIES
        and words.measure_coverage(features, best[0].features) >= _SUFFICIENT_COVERAGE_OF_PART
    )
    return best if is_answered else []


def _find_best(
    material: Material,
    ranked: Sequence[Candidate],
    recalled: Sequence[Candidate],
    question_features: frozenset[str],
) -> list[Candidate]:
    if not material.is_current:
        ranked = _put_history_last(ranked, recalled, question_features)
    best = _select_best(ranked, question_features)
    if best and best[0].origin in _MEMORIES and _answers(recalled[:1], question_features):
        return [*recalled[:1]]  # a search by meaning and topic ranks better than words alone
    return best


def _answers(recalled: Sequence[Candidate], question_features: frozenset[str]) -> bool:
    """Return whether the memory, if there is one, has enough words of the question."""
    return any(
        words.measure_coverage(question_features, item.features) >= _SUFFICIENT_COVERAGE
        for item in recalled
    )


def _is_sure(
    best: Candidate, recalled: Sequence[Candidate], question_features: frozenset[str]
) -> bool:
    """Return whether the memory that has most words of the question answers it, and not one that was recalled before it."""
    is_first = bool(recalled) and best is recalled[0]
    coverage = words.measure_coverage(question_features, best.features)
    return coverage >= (_SUFFICIENT_COVERAGE_OF_FIRST if is_first else _SUFFICIENT_COVERAGE)


def _list_sure(
    best: Sequence[Candidate],
    ranked: Sequence[Candidate],
    recalled: Sequence[Candidate],
    question_features: frozenset[str],
) -> list[Candidate]:
    """Return the sentences that answer the question, if any does."""
    if not best:
        return []
    if best[0].origin in _MEMORIES and not _is_sure(best[0], recalled, question_features):
        return []
    return _add_sure(best, ranked, question_features)


def _add_sure(
    best: Sequence[Candidate], ranked: Sequence[Candidate], question_features: frozenset[str]
) -> list[Candidate]:
    """Return the best sentences and, if they are memories, the others that have enough words of the question."""
    if best[0].origin not in _MEMORIES:
        return [*best]
    others = [
        item
        for item in ranked
        if item.origin in _MEMORIES
        and item not in best
        and words.measure_coverage(question_features, item.features) >= _SUFFICIENT_COVERAGE
    ]
    return [*best, *others][:_MAX_QUOTED]


def _put_history_last(
    ranked: Sequence[Candidate],
    recalled: Sequence[Candidate],
    question_features: frozenset[str],
) -> list[Candidate]:
    """Return the sentences of the conversation last if a memory answers the question, which may have replaced them."""
    if not any(_is_sure(item, recalled, question_features) for item in recalled):
        return [*ranked]
    return sorted(ranked, key=lambda item: item.origin == context.HISTORY)


def _list_closest(recalled: Sequence[Candidate], best: Sequence[Candidate]) -> list[Candidate]:
    """Return the memories that were recalled first, and the one that has most words of the question.

    Those with a much lower score than the best are left out, where the workflow tells the scores.
    """
    highest = max(candidate.score for candidate in recalled)
    near = [item for item in recalled if item.score >= _NEAR_SCORE * highest][:_MAX_QUOTED]
    if best and best[0].origin == context.RECALLED and best[0] not in near:
        near = [*near[: _MAX_QUOTED - 1], best[0]]
    return near


def _rank_candidates(material: Material) -> list[Candidate]:
    question_features = words.extract_features(material.question)
    return sorted(
        material.candidates,
        key=lambda candidate: (
            # Former memories are recalled for questions about the past only.
            not (candidate.is_former and question_features & candidate.features),
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
        for piece in (_CJK_PIECE.findall(word) if is_mostly_ideographic(word) else [word])
        if piece
    ]
