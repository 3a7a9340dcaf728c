"""The curator without a model, which selects the sentences that state something."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from memory.core.recall.tokens import DEFAULT_LANGUAGE
from memory.logic.conversations.folding import build_excerpt
from memory.logic.conversations.summary import split_sentences
from memory.logic.curation.feedback_loop import KnownTexts
from memory.logic.curation.parsing import Analysis
from memory.logic.curation.work import FinishedWork
from memory.logic.entries.duplicates import Likeness, compare_values
from memory.logic.entries.text_similarity import list_significant_terms
from memory.logic.judgement.clauses import remove_code
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.statements import rate_statements


_STATUS_WORDS = {
    "en": {"succeeded": "succeeded", "failed": "failed", "stopped": "was stopped"},
    "zh": {"succeeded": "成功", "failed": "失败", "stopped": "已停止"},
}
_MAX_ERRORS = 10
_MAX_TAGS = 5
_MAX_ERROR_LENGTH = 300

_BULLET = re.compile(r"^(?:[-*•>]|\d{1,2}[.)])\s+|\*\*|^#{1,6}\s+")

_ERROR_WORDS = re.compile(
    r"(?:error|exception|fault)\b|\b(?:failed|failure|fatal|refused|denied|not found|timed? ?out|cannot|invalid)\b"
    r"|错误|失败|异常|拒绝|超时|无法|找不到",
    re.IGNORECASE,
)
_SOLUTION = re.compile(
    r"\b(?:fix(?:ed|es)?|solved?|resolved?|workaround|solution|works? (?:after|with|when)|helped|instead of)\b"
    r"|解决|修复|办法|改成|换成",
    re.IGNORECASE,
)
_LOCATION = re.compile(
    r"File \".+\", line \d+|at \S+\(|Traceback \(|raise \w+|\d{4}-\d\d-\d\d.*\bINFO\b"
)


@dataclass(frozen=True, slots=True)
class ExtractiveCurator:
    """A curator that selects the surest statements and the lines that name an error. Without a judge, plain rules decide."""

    judge: Judge | None = None
    name: str = "extractive"
    max_learnings: int = 20

    async def analyse(self, work: FinishedWork) -> Analysis:
        known_texts = KnownTexts.from_texts([*work.recalled_texts, *work.stored_texts])
        sentences = list(_list_new_sentences(work.outputs, known_texts))
        ratings = rate_statements(sentences, self.judge)
        statements = [pair for pair in zip(ratings, sentences, strict=True) if pair[0]]
        solutions = [pair for pair in statements if work.errors and _SOLUTION.search(pair[1])]
        learnings = [pair for pair in statements if not (work.errors and _SOLUTION.search(pair[1]))]
        errors = list(islice(_list_error_lines(work.errors), _MAX_ERRORS))
        return Analysis(
            summary=_build_summary(work),
            key_learnings=_remove_duplicates(_pick_best(learnings, self.max_learnings)),
            errors=_remove_duplicates(errors),
            solutions=_remove_duplicates(_pick_best(solutions, self.max_learnings)),
            tags=_pick_tags(work),
            category="execution" if work.has_succeeded else "error",
        )


def _build_summary(work: FinishedWork) -> str:
    is_chinese = work.language.casefold().startswith("zh")
    status = _STATUS_WORDS["zh" if is_chinese else "en"][work.status]
    task = build_excerpt(work.task, 200).rstrip(".。 ") or ("任务" if is_chinese else "The task")
    return f"{task}：{status}。" if is_chinese else f"{task}: {status}."


def _list_new_sentences(texts: Iterable[str], known_texts: KnownTexts) -> Iterator[str]:
    for text in texts:
        for sentence in split_sentences(remove_code(text)):
            plain = _BULLET.sub("", sentence).strip()
            if not known_texts.contains(plain):
                yield plain


def _pick_best(rated: Sequence[tuple[float, str]], limit: int) -> list[str]:
    """Return the sentences with the highest rating, in their original order."""
    positions = sorted(range(len(rated)), key=lambda position: -rated[position][0])
    return [rated[position][1] for position in sorted(positions[:limit])]


def _remove_duplicates(texts: Iterable[str]) -> tuple[str, ...]:
    distinct: list[str] = []
    for text in texts:
        if all(compare_values(text, other) is Likeness.DIFFERENT for other in distinct):
            distinct.append(text)
    return tuple(distinct)


def _list_error_lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of each text that name an error, or its last line if none does."""
    for text in texts:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [line for line in lines if _ERROR_WORDS.search(line) and not _LOCATION.match(line)]
        yield from (line[:_MAX_ERROR_LENGTH] for line in (errors or lines[-1:])[-_MAX_ERRORS:])


def _pick_tags(work: FinishedWork) -> tuple[str, ...]:
    """Return the words of the task that recur, the most frequent first."""
    task_terms = list(dict.fromkeys(list_significant_terms(work.task, DEFAULT_LANGUAGE)))
    counts = Counter(
        term
        for text in (work.task, *work.outputs)
        for term in list_significant_terms(text)
        if term in task_terms
    )
    ranked = sorted(task_terms, key=lambda term: (-counts[term], task_terms.index(term)))
    return tuple(term for term in ranked if not term.isdigit())[:_MAX_TAGS]
