"""What enters a prompt: `python -m bench.relevance [--json FILE]`.

Two people have told 200 facts each, in English and in Chinese, which are stored as *Remember* stores them: the memories of
`bench/paraphrases.json`, and facts of the judge's sentences about what none of the questions asks for. Each person asks
the thirty questions of their language, which share no content word with the memory that answers them, and the sixty
questions and tasks of `bench/unrelated.json` in many languages, which no memory answers. The people of
`bench/unknown.json` have told about ten facts each and ask about themselves what they never told, and what they did. No
probe was trained on any of them. The questions go through the port of a workflow's nodes, in this process, in the scope of the person, and up to five
memories enter the prompt.
"""

import argparse
import asyncio
import json
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench._common import Bar, report
from bench.judgement.sentences import read_sentences
from bench.paraphrases import Paraphrases, read_paraphrases
from memory.logic.judgement.labels import About, Attribute, Kind


UNRELATED: Final = Path(__file__).with_name("unrelated.json")
UNKNOWN: Final = Path(__file__).with_name("unknown.json")
FACTS, TOP_K = 200, 5
# What none of the questions of the paraphrases asks for.
NOT_ASKED: Final = frozenset(
    {
        Attribute.PHONE,
        Attribute.MAIL,
        Attribute.EDUCATION,
        Attribute.EMPLOYER,
    }
)
# Of the unrelated questions, nothing enters; of the related ones the memory that answers enters, and is the first.
MIN_EMPTY, MIN_ENTERS, MIN_FIRST = 0.95, 0.95, 0.8
# Of what a person asks about themselves and never told, and of what they told.
MIN_EMPTY_OF_UNKNOWN, MIN_ENTERS_OF_ANSWERED = 0.45, 0.9


@dataclass(frozen=True)
class Answer:
    """The answer holds what entered the prompt for a question, and the memory that answers it or an empty text."""

    question: str
    entered: tuple[str, ...]
    memory: str = ""

    @property
    def is_right(self) -> bool:
        return self.memory in self.entered if self.memory else not self.entered

    @property
    def is_first(self) -> bool:
        return self.entered[:1] == (self.memory,)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the results")
    options = parser.parse_args()
    os.environ["MEMORY_EMBEDDER"] = "local"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    unrelated: list[Answer] = []
    related: list[Answer] = []
    related_at_any_score: list[Answer] = []
    for paraphrases in read_paraphrases():
        person = Person(list_facts(paraphrases))
        questions = json.loads(UNRELATED.read_text(encoding="utf-8"))
        unrelated += [Answer(question, person.ask(question)) for question in questions]
        pairs = [(pair.question, pair.memory) for pair in paraphrases.pairs]
        related += [Answer(question, person.ask(question), memory) for question, memory in pairs]
        related_at_any_score += [
            Answer(question, person.ask(question, 0.0), memory) for question, memory in pairs
        ]
    bars = _build_bars(unrelated, related, related_at_any_score)
    return report([*bars, *_measure_unknown()], _describe(unrelated, related), options.json)


def _measure_unknown() -> list[Bar]:
    """Ask what people never told of themselves, beside what they told."""
    unknown: list[Answer] = []
    answered: list[Answer] = []
    for each in json.loads(UNKNOWN.read_text(encoding="utf-8")):
        person = Person(each["facts"])
        unknown += [Answer(question, person.ask(question)) for question in each["unknown"]]
        answered += [
            Answer(pair["question"], person.ask(pair["question"]), pair["memory"])
            for pair in each["answered"]
        ]
    entered = sum(len(answer.entered) for answer in unknown)
    sys.stdout.write(f"never told: {len(unknown)} questions, {entered} memories entered\n")
    return [
        Bar(
            "never told: nothing enters",
            _share(a.is_right for a in unknown),
            MIN_EMPTY_OF_UNKNOWN,
            at_least=True,
        ),
        Bar(
            "told: the memory enters",
            _share(a.is_right for a in answered),
            MIN_ENTERS_OF_ANSWERED,
            at_least=True,
        ),
    ]


class Person:
    """Somebody whose facts are stored, and who asks."""

    def __init__(self, facts: Sequence[str]) -> None:
        from memory.core.records import StoreParams
        from memory.embedding.judge import find_judge
        from memory.logic.judgement.wishes.remaining import build_fact_metadata
        from memory.plugins import make_temporary_memory

        memory = make_temporary_memory()
        for number, fact in enumerate(facts):
            metadata = build_fact_metadata({}, fact, find_judge())
            memory.store(StoreParams("user:asker", f"m-{number}", value=fact, metadata=metadata))
        self._port = memory.port()

    def ask(self, question: str, min_score: float | None = None) -> tuple[str, ...]:
        """Return the memories that enter the prompt; with a ``min_score``, that takes the place of the floor."""
        from workflows.engine.ports import Origin

        recall = self._port.recall(
            scope="user",
            identity={"user_id": "asker"},
            origin=Origin("run", "recall", "1"),
            query_text=question,
            top_k=TOP_K,
            min_score=min_score,
        )
        return tuple(str(hit.value) for hit in asyncio.run(recall))


def list_facts(paraphrases: Paraphrases) -> list[str]:
    """Return the memories of the paraphrases, and facts in all languages up to the number of facts.

    They are chosen by what a checksum makes of their text, so that a sentence that is added moves at most one of them.
    """
    memories = paraphrases.memories
    more_facts = {fact for fact in _list_not_asked() if fact not in memories}
    in_order = sorted(more_facts, key=lambda fact: zlib.crc32(fact.encode()))
    return [*memories, *in_order[: FACTS - len(memories)]]


def _list_not_asked() -> Iterator[str]:
    for sentence in read_sentences():
        is_fact = sentence.kind is Kind.FACT and sentence.about is About.SELF
        if is_fact and sentence.attribute in NOT_ASKED:
            yield sentence.text


def _build_bars(
    unrelated: Sequence[Answer], related: Sequence[Answer], related_at_any_score: Sequence[Answer]
) -> list[Bar]:
    for name, answers in (("with the floor", related), ("without it", related_at_any_score)):
        entered = sum(len(answer.entered) for answer in answers) / len(answers)
        sys.stdout.write(
            f"related, {name:16} enters {_share(a.is_right for a in answers):6.1%}"
            f"  first {_share(a.is_first for a in answers):6.1%}  memories a prompt {entered:.1f}\n"
        )
    for answer in (answer for answer in (*unrelated, *related) if not answer.is_right):
        sys.stdout.write(
            f"  {answer.question}  wanted: {answer.memory or '-'}  got: {answer.entered[:2]}\n"
        )
    empty = _share(answer.is_right for answer in unrelated)
    enters = _share(answer.is_right for answer in related)
    first = _share(answer.is_first for answer in related)
    return [
        Bar("unrelated: nothing enters", empty, MIN_EMPTY, at_least=True),
        Bar("related: the memory enters", enters, MIN_ENTERS, at_least=True),
        Bar("related: it is the first", first, MIN_FIRST, at_least=True),
    ]


def _share(flags: Any) -> float:
    values: list[bool] = [*flags]
    return sum(values) / len(values)


def _describe(unrelated: Sequence[Answer], related: Sequence[Answer]) -> dict[str, Any]:
    wrong = [answer.question for answer in (*unrelated, *related) if not answer.is_right]
    return {"unrelated": len(unrelated), "related": len(related), "wrong": wrong}


if __name__ == "__main__":
    sys.exit(main())
