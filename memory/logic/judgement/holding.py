"""Tell what of a conversation still holds: a later sentence may have taken its place, ended it, or asked to forget it."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.logic.judgement.judge import Judge
from memory.logic.judgement.operations import Action, KnownFact
from memory.logic.judgement.turns import Clause


@dataclass(frozen=True, slots=True)
class Holding:
    """``gone`` are the sentences that no longer hold as a whole, their clauses that don't, and wishes to forget something.

    ``clauses`` are what is left of them. Of sentences that hold, or state no fact, there is nothing in either.
    """

    gone: frozenset[str] = frozenset()
    clauses: tuple[str, ...] = ()


def find_holding(judge: Judge, sentences: Sequence[str], recalled: Sequence[str]) -> Holding:
    """Find out what still holds of a person's sentences, the oldest first.

    ``recalled`` is what memory knows now: each is newer than any of the sentences.
    """
    conversation = _Conversation(judge)
    gone: set[str] = set()
    facts_by_sentence = []
    for sentence in sentences:
        clauses = judge.judge_message(sentence)
        facts_by_sentence.append((sentence, conversation.hear(clauses)))
        if any(clause.is_forget for clause in clauses):
            gone.add(sentence)  # a wish tells what isn't to be repeated
    for text in recalled:
        conversation.compare(judge.judge_message(text))
    holding: list[str] = []
    for sentence, facts in facts_by_sentence:
        left = [fact.text for fact in facts if conversation.holds(fact)]
        if len(left) < len(facts):
            gone.update((sentence, *(fact.text for fact in facts)))
            holding += left
        elif sentence not in gone:
            holding += (sentence, *left)
    rest = tuple(text for text in dict.fromkeys(holding) if text in gone)
    return Holding(frozenset(gone.difference(holding)), rest)


class _Conversation:
    """The facts that a person stated so far, and those of them that still hold."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._facts: list[KnownFact] = []
        self._gone: set[str] = set()
        self._latest: list[str] = []

    def hear(self, clauses: Sequence[Clause]) -> list[KnownFact]:
        """Add the facts of a sentence, and return them."""
        self.compare(clauses)
        facts = [
            KnownFact(f"{len(self._facts)}.{number}", clause.text)
            for number, clause in enumerate(clauses)
            if clause.is_stored
        ]
        self._facts += facts
        self._latest = [fact.id for fact in facts]
        return facts

    def compare(self, clauses: Sequence[Clause]) -> None:
        """Note which facts no longer hold because of these clauses."""
        facts = [fact for fact in self._facts if self.holds(fact)]
        operations = self._judge.decide(clauses, facts, self._latest)
        for operation in operations:
            if operation.action is not Action.ASK:
                self._gone.update(operation.targets)

    def holds(self, fact: KnownFact) -> bool:
        return fact.id not in self._gone
