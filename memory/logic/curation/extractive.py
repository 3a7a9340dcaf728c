"""The curator without a model: sentences as they were said, chosen by plain rules."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from memory.core.recall.tokens import DEFAULT_LANGUAGE
from memory.logic.conversations.folding import excerpt
from memory.logic.conversations.summary import sentences
from memory.logic.curation.feedback_loop import Recalled
from memory.logic.curation.parsing import Analysis
from memory.logic.curation.sentence_rating import judge
from memory.logic.curation.work import FinishedWork
from memory.logic.entries.duplicates import Likeness, compare_values
from memory.logic.entries.text_similarity import list_significant_terms


@dataclass(frozen=True, slots=True)
class ExtractiveCurator:
    name: str = "extractive"
    most_learnings: int = 20

    async def analyse(self, work: FinishedWork) -> Analysis:
        known = Recalled.of([*work.recalled, *work.written])
        learnings: list[tuple[int, str]] = []
        solutions: list[tuple[int, str]] = []
        for sentence in _new(work.outputs, known):
            judgement = judge(sentence)
            if judgement.worth_keeping:
                home = solutions if "solution" in judgement.because and work.errors else learnings
                home.append((judgement.points, sentence))
        errors = list(islice(_errors(work.errors), _MOST_ERRORS))
        return Analysis(
            summary=_summary(work),
            key_learnings=_each_once(_best(learnings, self.most_learnings)),
            errors=_each_once(errors),
            solutions=_each_once(_best(solutions, self.most_learnings)),
            tags=_tags(work),
            category="execution" if work.succeeded else "error",
        )


_ENDINGS = {
    "en": {"succeeded": "succeeded", "failed": "failed", "stopped": "was stopped"},
    "zh": {"succeeded": "成功", "failed": "失败", "stopped": "已停止"},
}
_MOST_ERRORS = 10
_MOST_TAGS = 5
_LONGEST_ERROR = 300


def _summary(work: FinishedWork) -> str:
    zh = work.language.casefold().startswith("zh")
    ending = _ENDINGS["zh" if zh else "en"][work.status]
    task = excerpt(work.task, 200).rstrip(".。 ") or ("任务" if zh else "The task")
    return f"{task}：{ending}。" if zh else f"{task}: {ending}."


def _new(texts: Iterable[str], known: Recalled) -> Iterator[str]:
    for text in texts:
        for sentence in sentences(_CODE_BLOCK.sub("\n", text)):
            plain = _BULLET.sub("", sentence).strip()
            if not known.says(plain):
                yield plain


_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BULLET = re.compile(r"^(?:[-*•>]|\d{1,2}[.)])\s+|\*\*|^#{1,6}\s+")


def _best(found: Iterable[tuple[int, str]], most: int) -> list[str]:
    """The most telling ones, in the order they were said."""
    numbered = list(enumerate(found))
    chosen = sorted(numbered, key=lambda one: (-one[1][0], one[0]))[:most]
    return [sentence for _, (_, sentence) in sorted(chosen)]


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for text in texts:
        if all(compare_values(text, one) is Likeness.DIFFERENT for one in kept):
            kept.append(text)
    return tuple(kept)


def _errors(texts: Iterable[str]) -> Iterator[str]:
    """Of a stack trace the last line says what happened; of anything else, each line that names it."""
    for text in texts:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        named = [line for line in lines if _NAMES_ERROR.search(line) and not _LOCATION.match(line)]
        yield from (line[:_LONGEST_ERROR] for line in (named or lines[-1:])[-_MOST_ERRORS:])


_NAMES_ERROR = re.compile(
    r"(?:error|exception|fault)\b|\b(?:failed|failure|fatal|refused|denied|not found|timed? ?out|cannot|invalid)\b"
    r"|错误|失败|异常|拒绝|超时|无法|找不到",
    re.IGNORECASE,
)
_LOCATION = re.compile(
    r"File \".+\", line \d+|at \S+\(|Traceback \(|raise \w+|\d{4}-\d\d-\d\d.*\bINFO\b"
)


def _tags(work: FinishedWork) -> tuple[str, ...]:
    """Words of the task that come up again, most often first."""
    asked = list(dict.fromkeys(list_significant_terms(work.task, DEFAULT_LANGUAGE)))
    counts = Counter(
        term
        for text in (work.task, *work.outputs)
        for term in list_significant_terms(text)
        if term in asked
    )
    known = sorted(asked, key=lambda term: (-counts[term], asked.index(term)))
    return tuple(term for term in known if not term.isdigit())[:_MOST_TAGS]
