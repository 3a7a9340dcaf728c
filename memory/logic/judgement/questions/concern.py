"""Tell from a question whether it concerns the person who asks: "Where do I live?" does, "What is 6 times 7?" doesn't."""

from dataclasses import replace

from memory.core.records import MemoryQuery
from memory.core.scope_kinds import SeenBy
from memory.core.scopes import get_scope
from memory.logic.judgement.judge import Judge
from memory.logic.judgement.questions.topic_floors import find_topic_floors


def set_floors(judge: Judge, query: MemoryQuery, scope: str) -> MemoryQuery:
    """Return the query with the probability that it concerns those whose memory the scope is, and the floors of its topics.

    The memory of a workflow or of a conversation is about what they are for, which no question says. There every question
    counts as one that concerns it, and topics set no floor.
    """
    if get_scope(scope).seen_by is not SeenBy.PERSON:
        return replace(query, concern=1.0)
    (clause,) = judge.judge_texts([(query.query_text or "").strip()])
    return replace(query, concern=clause.concern, topic_floors=find_topic_floors(clause))
