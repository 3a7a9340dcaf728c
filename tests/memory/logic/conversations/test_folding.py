"""Whatever is said and however small the room: calls and results never part, bounds hold."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.errors import Serialization
from memory.logic.conversations.folding import (
    Compaction,
    FoldingPolicy,
    Strategy,
    plan_folding,
    shorten_message,
)
from memory.logic.conversations.messages import (
    Message,
    Role,
    ToolCall,
    count_tokens,
    estimate_tokens,
    from_json,
    group_messages,
    is_orphan,
    split_turns,
    to_json,
)
from tests.memory.logic.support import quick
from tests.support.cases import for_each


@st.composite
def chats(draw: st.DrawFn) -> list[Message]:
    """Chats with parallel calls, late results, calls without results, and long texts."""
    messages: list[Message] = []
    waiting: list[str] = []
    for number in range(draw(st.integers(0, 14))):
        text = draw(st.sampled_from(["", "hi", "word " * 30, "汉字" * 40, "x" * 500]))
        role = draw(st.sampled_from([*Role]))
        if role is Role.TOOL and not waiting:
            role = Role.USER
        match role:
            case Role.TOOL:
                call = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
                messages.append(Message(role, text, tool_call_id=call))
            case Role.ASSISTANT:
                calls = [f"{number}-{n}" for n in range(draw(st.integers(0, 3)))]
                waiting += calls
                made = tuple(ToolCall(one, "f", "{}") for one in calls)
                messages.append(Message(role, text, made))
            case _:
                messages.append(Message(role, text))
    return [replace(one, id=str(number)) for number, one in enumerate(messages)]


FOLDINGS = st.builds(
    FoldingPolicy,
    strategy=st.sampled_from(Strategy),
    max_turns=st.integers(1, 4),
    max_messages=st.none() | st.integers(1, 8),
    compaction=st.none()
    | st.builds(
        Compaction,
        context_window=st.integers(60, 400),
        reserved_tokens=st.integers(0, 50),
        keep_recent=st.integers(0, 5),
        shortened_length=st.integers(0, 40),
    ),
)


PEOPLE = (Role.SYSTEM, Role.USER)


@quick
@given(chats(), FOLDINGS)
def test_calls_and_their_results_are_never_split(messages: list[Message], folding: FoldingPolicy):
    """seed 4 §5.4, spec §6: tool-call/tool-result pairs are never split."""
    kept = {one.id for one in plan_folding(messages, folding).remaining}

    for group in group_messages(messages):
        assert len({one.id in kept for one in group}) == 1
    history = [one for one in messages if one.id in kept]
    assert not any(is_orphan(one, history[:at]) for at, one in enumerate(history))


@quick
@given(chats(), FOLDINGS)
def test_everything_is_either_kept_or_accounted_for(
    messages: list[Message], folding: FoldingPolicy
):
    decided = plan_folding(messages, folding)

    gone = [one for _, one in decided.dropped]
    before = {after.id: was for was, after in decided.shortened}
    kept = [before.get(one.id, one) for one in decided.remaining]
    assert sorted(kept + gone, key=lambda one: int(one.id)) == messages
    assert [one.id for one in decided.remaining] == [one.id for one in messages if one in kept]


@quick
@given(chats(), FOLDINGS)
def test_bounds_hold_but_for_what_must_stay(messages: list[Message], folding: FoldingPolicy):
    kept = plan_folding(messages, folding).remaining

    if folding.strategy is Strategy.SLIDING_WINDOW:
        assert len(split_turns(kept)) <= folding.max_turns
    if folding.max_messages is not None:
        assert len(kept) <= folding.max_messages or len(group_messages(kept)) == 1
    if folding.compaction and count_tokens(kept) > folding.compaction.budget:
        rules = folding.compaction
        older = kept[: max(0, len(kept) - rules.keep_recent)]
        shortened = [shorten_message(one, rules.shortened_length) for one in older]
        assert all(
            count_tokens([short]) >= count_tokens([one])
            for one, short in zip(older, shortened, strict=True)
            if one.role not in PEOPLE
        )


@quick
@given(chats(), FOLDINGS, st.integers(0, 300))
def test_compaction_drops_nothing_and_leaves_every_word_of_a_person(
    messages: list[Message], folding: FoldingPolicy, overhead: int
):
    """seed 4 §5.4: eviction drops whole messages; compaction drops none and shortens, tool results first."""
    only_compaction = FoldingPolicy(compaction=folding.compaction)

    decided = plan_folding(messages, only_compaction, overhead=overhead)

    assert [one.id for one in decided.remaining] == [one.id for one in messages]
    said = [one for one in messages if one.role in PEOPLE]
    assert [one for one in decided.remaining if one.role in PEOPLE] == said
    assert plan_folding(said, folding).shortened == ()


@quick
@given(chats(), FOLDINGS)
def test_recent_messages_are_never_shortened(messages: list[Message], folding: FoldingPolicy):
    decided = plan_folding(messages, folding)

    if folding.compaction and folding.compaction.keep_recent:
        recent = decided.remaining[-folding.compaction.keep_recent :]
        assert all(one in messages for one in recent)


@quick
@given(chats(), FOLDINGS)
def test_folding_what_was_folded_changes_nothing(messages: list[Message], folding: FoldingPolicy):
    kept = plan_folding(messages, folding).remaining

    assert plan_folding(kept, folding).remaining == kept


@quick
@given(chats())
def test_message_survives_its_json(messages: list[Message]):
    assert [from_json(to_json(one)) for one in messages] == messages


WRONG: list[Any] = [{}, {"role": "nobody"}, [], None, {"role": "user", "content": "x", "id": 1}]


@for_each("wrong", WRONG)
def test_json_that_is_no_message_is_refused(wrong: Any):
    with pytest.raises(Serialization):
        from_json(wrong)


def test_shortening_keeps_head_and_tail_and_counts_the_rest():
    short = shorten_message(Message(Role.TOOL, "a" * 50 + "z" * 50), 30)

    assert short.content == f"{'a' * 20}\n[… 70 …]\n{'z' * 10}"
    assert short.shortened == 70
    assert shorten_message(short, 5) is short


def test_estimate_counts_a_chinese_character_as_a_token():
    assert estimate_tokens("abcd") == 1
    assert estimate_tokens("abcde") == 2
    assert estimate_tokens("汉字") == 2
    assert estimate_tokens("汉字abcd") == 3
    assert estimate_tokens("") == 0
