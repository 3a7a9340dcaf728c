"""Judge messages by an encoder and its probes, and propose what to do to memory."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memory.core.records import Json
from memory.logic.judgement import rules
from memory.logic.judgement.evidence import Evidence
from memory.logic.judgement.forgetting import EVERYTHING, means_everything
from memory.logic.judgement.labels import Kind
from memory.logic.judgement.likeness import JudgedFact, compute_cosine
from memory.logic.judgement.messages import Reading, read_message
from memory.logic.judgement.operations import (
    NOTHING_RELATED,
    Action,
    KnownFact,
    Operation,
    RelatedFacts,
    parse_operation,
)
from memory.logic.judgement.probes import Probes
from memory.logic.judgement.relating import (
    contradicts,
    decide_operations,
    may_concern_known,
    may_contradict,
)
from memory.logic.judgement.turns import (
    MIN_OF_SPEAKER,
    Clause,
    Encode,
    asks_for_value,
    judge_splits,
    judge_texts,
)
from memory.logic.judgement.wishes.candidates import list_candidates, select_meant
from memory.logic.judgement.wishes.parts import list_wish_splits
from memory.logic.judgement.wishes.taken_back import (
    NOT_TAKEN_BACK,
    TAKEN_BACK,
    find_short_message,
    may_take_back,
    takes_back,
)
from memory.logic.judgement.wording.answers import (
    build_statement,
    find_question,
    is_short_answer,
)
from memory.logic.judgement.wording.reading import PrecedingTurn


MAX_CACHED: Final = 4_096  # clauses: 3 KB each
NO_EVIDENCE: Final = Evidence("", None)


@dataclass(frozen=True, slots=True)
class Proposal:
    """It says what a turn would do to memory, and which known facts a model may be shown that decides it better.

    A wish ``is_about_everything`` that is known: the person is asked, and no model. ``readable`` is the message without
    what the person asked not to keep, or None if it is all of it.
    """

    operations: tuple[Operation, ...]
    known_facts: tuple[KnownFact, ...]
    method: str
    asks_to_forget: bool = False
    is_about_everything: bool = False
    readable: str | None = None
    evidence: Evidence = NO_EVIDENCE

    def find_fault(self, operation: Mapping[str, Json], earlier: Sequence[str] = ()) -> str:
        """Return why the person's words don't say what an operation of a model does, or an empty text."""
        return self.evidence.find_fault(parse_operation(operation), earlier)


# Returns the operations that are performed of a proposal.
Decide = Callable[[Proposal], Sequence[Operation]]

BY_MEANING: Final = "meaning"
BY_RULES: Final = "rules"


class Judge:
    """It may be used by several threads, as far as the encoder may: at worst a text is judged twice.

    What a turn is compared with is mostly the same from turn to turn, so the latest clauses are kept.
    """

    def __init__(self, encode: Encode, probes: Probes) -> None:
        self._encode, self._probes = encode, probes
        self._clauses: OrderedDict[str, Clause] = OrderedDict()

    def judge_message(self, message: str, turns: Sequence[PrecedingTurn] = ()) -> list[Clause]:
        """Judge what the message says after the turns before it."""
        return [*self.read_message(message, turns).clauses]

    def read_message(self, message: str, turns: Sequence[PrecedingTurn] = ()) -> Reading:
        """Judge what the message says after the turns before it, and what of it may be kept.

        What is stored of it begins with a capital letter, and needn't be judged again for that.
        """
        if wish := self._find_taken_back(message):
            return Reading((wish,))
        reading = read_message(message, self.judge_texts, turns)
        is_answer = not reading.clauses and reading.readable is None
        statements = self._judge_answer(message, turns) if is_answer else reading.clauses
        clauses = tuple(map(self._read_wish, statements))
        self._clauses.update((clause.text, clause) for clause in clauses)
        return replace(reading, clauses=clauses)

    def _judge_answer(self, message: str, turns: Sequence[PrecedingTurn]) -> list[Clause]:
        """Judge what states nothing by itself as the answer to the question with which the last turn ended."""
        question = find_question(turns[-1].assistant) if turns else ""
        if not question or not is_short_answer(message):
            return []
        asking, answer = self.judge_texts([question, message.strip()])
        if not asks_for_value(asking, answer):
            return []
        statement = build_statement(asking.attribute, question, message)
        return [
            replace(c, kind=Kind.FACT) for c in self.judge_texts([statement] if statement else [])
        ]

    def judge_texts(self, texts: Sequence[str]) -> list[Clause]:
        """Judge each text as one clause; texts that were judged lately aren't judged again."""
        clauses = {text: clause for text in texts if (clause := self._clauses.get(text))}
        new_texts = [text for text in dict.fromkeys(texts) if text not in clauses]
        clauses |= zip(new_texts, judge_texts(new_texts, self._encode, self._probes), strict=True)
        self._clauses.update(clauses)
        while len(self._clauses) > MAX_CACHED:
            self._clauses.popitem(last=False)
        return [clauses[text] for text in texts]

    def measure_nearness(self, text: str, other: str) -> float:
        """Return the cosine of two texts without what all statements share."""
        first, second = self.judge_texts([text, other])
        center = self._probes.center
        return compute_cosine(first.vector - center, second.vector - center)

    def _find_taken_back(self, message: str) -> Clause | None:
        """Return the message as a wish to forget if it takes back what was said last, about which the person is asked."""
        text = find_short_message(message)
        (clause,) = self.judge_texts([text]) if text else (None,)
        if clause is None or not may_take_back(clause):
            return None
        examples, others = self.judge_texts(TAKEN_BACK), self.judge_texts(NOT_TAKEN_BACK)
        if not takes_back(clause, examples, others):
            return None
        return replace(clause, kind=Kind.FORGET, takes_back=True)

    def _read_wish(self, clause: Clause) -> Clause:
        """Return the clause and, if it is a wish to forget, what it names, or that it means everything."""
        if not clause.is_forget:
            return clause
        parts = tuple(self.judge_texts(split) for split in list_wish_splits(clause.text))
        is_all = means_everything(clause, self.judge_texts(EVERYTHING))
        return replace(clause, means_everything=is_all, parts=parts)

    def judge_splits(self, sentence: str) -> list[Sequence[Clause]]:
        return judge_splits(sentence, self.judge_texts)

    def list_meant(self, wish: str, facts: Sequence[Clause]) -> list[Clause]:
        """Return the facts that a wish to forget means, as ``decide`` selects them."""
        (clause,) = self.judge_texts([wish])
        judgements = [JudgedFact(KnownFact(str(n), f.text), f) for n, f in enumerate(facts)]
        selection = select_meant(clause, list_candidates(clause, judgements, self._probes.center))
        return [facts[int(candidate.id)] for candidate in selection]

    def decide(
        self,
        clauses: Sequence[Clause],
        known_facts: Sequence[KnownFact],
        latest: Sequence[str],
        everything: Sequence[str] = (),
    ) -> list[Operation]:
        is_compared = any(map(may_concern_known, clauses))
        judgements = self._judge_comparable(known_facts) if is_compared else []
        return decide_operations(clauses, judgements, self._probes.center, latest, everything)

    def find_contradicting(self, text: str, known_facts: Sequence[KnownFact]) -> list[str]:
        """Return the ids of the known facts that can't be so at the same time as the text."""
        (clause,) = self.judge_texts([text])
        if not may_contradict(clause):
            return []
        center = self._probes.center
        return [
            judged_fact.fact.id
            for judged_fact in self._judge_comparable(known_facts)
            if contradicts(clause, judged_fact.clause, center)
        ]

    def select_comparable(self, known_facts: Sequence[KnownFact]) -> list[KnownFact]:
        """Return the facts that the person of a turn may speak of: not what somebody else said about themselves."""
        of_others = [fact for fact in known_facts if fact.is_of_other]
        clauses = self.judge_texts([fact.text for fact in of_others])
        ids = {
            fact.id
            for fact, clause in zip(of_others, clauses, strict=True)
            if clause.is_of_speaker >= MIN_OF_SPEAKER
        }
        return [fact for fact in known_facts if fact.id not in ids]

    def _judge_comparable(self, known_facts: Sequence[KnownFact]) -> list[JudgedFact]:
        facts = self.select_comparable(known_facts)
        clauses = self.judge_texts([fact.text for fact in facts])
        return list(map(JudgedFact, facts, clauses))


@dataclass(frozen=True, slots=True)
class Turn:
    """It has a message of a person, and what the judge finds in it. Without a judge, rules read the message."""

    message: str
    judge: Judge | None
    clauses: Sequence[Clause] = ()
    preceding_turns: Sequence[PrecedingTurn] = ()
    readable: str | None = None

    @property
    def may_concern_known(self) -> bool:
        """Return whether the operations may depend on the known facts."""
        return any(map(may_concern_known, self.clauses))

    def propose(self, related: RelatedFacts = NOTHING_RELATED) -> Proposal:
        """Propose the operations of the turn.

        All that is compared is judged here: the write, which compares again, holds a lock.
        """
        if self.judge is None:
            own_facts = [fact for fact in related.facts if not fact.is_of_other]
            statements = rules.list_statements(self.message, self.preceding_turns)
            readable = rules.find_readable(self.message)
            operations = [Operation(Action.ADD, text, evidence=text) for text in statements]
            method, asks_to_forget = BY_RULES, rules.asks_to_forget(self.message)
        else:
            self.judge.judge_texts(related.compared_texts)
            own_facts = self.judge.select_comparable(related.facts)
            operations = self.judge.decide(
                self.clauses, related.facts, related.latest, related.everything
            )
            method, asks_to_forget = BY_MEANING, any(clause.is_forget for clause in self.clauses)
            readable = self.readable
        prompt_facts = tuple(f for f in own_facts if f.may_enter_prompts and not f.is_former)
        evidence_text = self.message if readable is None else readable
        return Proposal(
            tuple(operations),
            prompt_facts,
            method,
            asks_to_forget,
            any(clause.means_everything for clause in self.clauses),
            readable,
            Evidence(evidence_text, self.judge, prompt_facts),
        )


def judge_turn(judge: Judge | None, message: str, turns: Sequence[PrecedingTurn] = ()) -> Turn:
    reading = judge.read_message(message, turns) if judge else Reading()
    return Turn(message, judge, reading.clauses, turns, reading.readable)
