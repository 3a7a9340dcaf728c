"""Tell from a question whether it concerns the person who asks: "Where do I live?" does, "What is 6 times 7?" doesn't."""

from memory.core.records import MemoryQuery, TopicFloors
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import get_scope
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.questions.topic_floors import find_topic_floors


def measure_concern(judge: Judge, query: MemoryQuery, scope: str) -> float:
    """Return the probability that the question concerns those whose memory the scope is.

    The memory of a workflow or of a conversation is about what they are for, which no question says. There every question
    counts as one that concerns it.
    """
    if get_scope(scope).seen_by is not SeenBy.PERSON:
        return 1.0
    (clause,) = judge.judge_texts([(query.query_text or "").strip()])
    return clause.concern


def measure_topic_floors(judge: Judge, query: MemoryQuery, scope: str) -> TopicFloors | None:
    """Return the floors by what the text speaks of, in the memory of a person."""
    if get_scope(scope).seen_by is not SeenBy.PERSON:
        return None
    (clause,) = judge.judge_texts([(query.query_text or "").strip()])
    return find_topic_floors(clause)
