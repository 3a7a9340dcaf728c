"""Conversation memory over a real provider: windows, capacity, compaction, summaries, folds."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from memory.core.errors import InvalidInput
from memory.core.records import MemoryQuery, StoreParams
from memory.logic.conversations.conversation import ConversationMemory
from memory.logic.conversations.folding import Compaction, FoldingPolicy, FoldReason, Strategy
from memory.logic.conversations.messages import Message, Role, ToolCall, count_tokens
from memory.logic.conversations.summary import ExtractiveSummariser, Summariser
from memory.providers.base import MemoryProvider
from tests.memory.logic.support import STORES, Ticking, counting
from tests.support.cases import for_each


def user(text: str) -> Message:
    return Message(Role.USER, text)


def assistant(text: str, *calls: str) -> Message:
    return Message(Role.ASSISTANT, text, tuple(ToolCall(one, "search", "{}") for one in calls))


def result(call: str, text: str) -> Message:
    return Message(Role.TOOL, text, tool_call_id=call)


def conversation(
    entries: MemoryProvider | None = None,
    *,
    conversation_id: str = "c1",
    summariser: Summariser | None = None,
    folding: FoldingPolicy | None = None,
) -> ConversationMemory:
    return ConversationMemory(
        conversation_id,
        entries or STORES.make(),
        new_id=counting(conversation_id),
        folding=folding or FoldingPolicy(),
        summariser=summariser,
        clock=Ticking(),
    )


def said(memory: ConversationMemory, *messages: Message) -> list[str]:
    for message in messages:
        memory.add_message(message)
    return [one.content for one in memory.get_history()]


def window(max_turns: int) -> FoldingPolicy:
    return FoldingPolicy(strategy=Strategy.SLIDING_WINDOW, max_turns=max_turns)


TALK = [user("q1"), assistant("a1"), user("q2"), assistant("a2"), user("q3"), assistant("a3")]


def test_empty_session_has_no_history():
    """seed 4 step 2: empty session."""
    memory = conversation()

    assert memory.get_history() == ()
    assert memory.clear() == 0


def test_full_strategy_keeps_every_message_in_order():
    """seed 4 §8: ConversationMemory supports the full strategy."""
    assert said(conversation(), *TALK) == ["q1", "a1", "q2", "a2", "q3", "a3"]


def test_sliding_window_keeps_the_last_turns_and_deletes_the_older_messages():
    """seed 4 §8: sliding window at its limit deletes the oldest message entries."""
    entries = STORES.make()
    memory = conversation(entries, folding=window(2))

    assert said(memory, *TALK) == ["q2", "a2", "q3", "a3"]
    left = entries.recall(MemoryQuery("conv:c1", filter={"category": "message"}))
    assert sorted(entry.value for entry in left) == ["a2", "a3", "q2", "q3"]


def test_sliding_window_keeps_instructions():
    memory = conversation(folding=window(1))

    assert said(memory, Message(Role.SYSTEM, "be kind"), *TALK) == ["be kind", "q3", "a3"]


def test_capacity_deletes_the_oldest_whole_messages():
    """seed 4 §5.4 and F8: at max_items the oldest message leaves, entry and all."""
    entries = STORES.make()
    memory = conversation(entries, folding=FoldingPolicy(max_messages=3))

    assert said(memory, *TALK) == ["a2", "q3", "a3"]
    left = entries.recall(MemoryQuery("conv:c1", filter={"category": "message"}))
    assert len(left) == 3


def test_capacity_takes_a_call_and_its_results_together():
    memory = conversation(folding=FoldingPolicy(max_messages=4))
    calls = [assistant("", "c1", "c2"), result("c1", "r1"), result("c2", "r2")]

    # One message too many, and the oldest belongs to three.
    assert said(memory, *calls, user("q"), assistant("a")) == ["q", "a"]


def test_capacity_never_cuts_the_newest_group_even_if_it_alone_is_too_large():
    memory = conversation(folding=FoldingPolicy(max_messages=2))
    calls = [assistant("", "c1", "c2"), result("c1", "r1"), result("c2", "r2")]

    assert said(memory, user("q"), *calls) == ["", "r1", "r2"]


def tight(**changes: int) -> FoldingPolicy:
    given = {"context_window": 200, "reserved_tokens": 50, "keep_recent": 2, "shortened_length": 30}
    return FoldingPolicy(compaction=Compaction(**(given | changes)))


def test_compaction_starts_only_past_the_budget():
    """seed 4 §8: compaction reuses context_window and reserved_tokens to decide."""
    memory = conversation(folding=tight())

    below = [assistant("x" * 150), user("y" * 150), user("z" * 150)]  # 3 × 42 tokens of 150
    assert [len(text) for text in said(memory, *below)] == [150, 150, 150]
    assert (said(memory, user("w" * 150)))[0] != "x" * 150


def test_compaction_shortens_tool_results_first_and_leaves_the_rest_alone():
    """seed 4 step 2: compression of tool result content."""
    memory = conversation(folding=tight(keep_recent=1))
    before = [user("u" * 100), assistant("looking", "c1"), result("c1", "r" * 400)]
    assert said(memory, *before) == ["u" * 100, "looking", "r" * 400]

    texts = said(memory, assistant("f" * 60), user("thanks"))

    shortened = f"{'r' * 20}\n[… 370 …]\n{'r' * 10}"
    assert texts == ["u" * 100, "looking", shortened, "f" * 60, "thanks"]


def test_compaction_leaves_recent_messages_untouched():
    memory = conversation(folding=tight(keep_recent=3))
    recent = [user("a" * 800), user("b" * 800), user("c" * 800)]

    assert (said(memory, *recent)) == [one.content for one in recent]


def test_compaction_drops_nothing_even_when_shortening_is_not_enough():
    memory = conversation(folding=tight(context_window=100))
    texts = said(memory, *(assistant(f"{n} " + "word " * 40) for n in range(12)))

    assert [text.split()[0] for text in texts] == [str(n) for n in range(12)]
    assert all("[… " in text for text in texts[:-2])
    assert count_tokens(memory.get_history()) > 50


def test_compaction_never_drops_nor_shortens_what_a_person_said():
    """seed 4 §5.4: compaction shortens the results of tools; only eviction removes a message."""
    memory = conversation(folding=tight(context_window=100, keep_recent=1))
    talk = [
        user("My name is Ada. " * 40),
        assistant("", "c1"),
        result("c1", "r" * 900),
        assistant("I looked it up. " * 40),
        user("And my cat is called Mimi. " * 40),
    ]

    said(memory, *talk)

    people = [one.content for one in memory.get_history() if one.role is Role.USER]
    assert people == [talk[0].content, talk[-1].content]
    assert count_tokens(memory.get_history()) > 50  # nothing else is left to shorten
    assert len(memory.get_history()) == len(talk)


def test_shortened_original_stays_readable_as_a_revision():
    entries = STORES.make()
    memory = conversation(entries, folding=tight())
    said(memory, assistant("", "c1"), result("c1", "r" * 900), user("a"), user("b"))

    found = entries.recall(MemoryQuery("conv:c1", filter={"role": "tool"}))
    past = entries.history("conv:c1", found[0].key)
    assert [len(one.value) for one in past] == [900, len(found[0].value)]


def test_summary_replaces_what_was_dropped():
    memory = conversation(folding=window(1), summariser=ExtractiveSummariser())
    told = user("My daughter Mia starts school in Lyon on 1 September.")

    history = said(memory, told, assistant("Noted!"), user("What's the weather?"))

    summary = "- user: My daughter Mia starts school in Lyon on 1 September."
    assert history == [f"Summary of the conversation so far:\n{summary}", "What's the weather?"]


def test_summary_stands_after_the_instructions():
    memory = conversation(folding=window(1), summariser=ExtractiveSummariser())

    said(memory, Message(Role.SYSTEM, "be kind"), user("one two three four five"), user("b"))
    roles = [(one.role, one.content[:7]) for one in memory.get_history()]

    assert roles == [(Role.SYSTEM, "be kind"), (Role.SYSTEM, "Summary"), (Role.USER, "b")]


@dataclass
class Scripted:
    name: str = "model x"
    seen: list[tuple[str, list[str]]] = field(default_factory=list)
    fails: bool = False

    def summarise(self, previous_summary: str, folded: Sequence[Message]) -> str:
        if self.fails:
            raise TimeoutError
        self.seen.append((previous_summary, [one.content for one in folded]))
        return f"summary {len(self.seen)}"


def test_summary_rolls_the_last_one_in():
    model = Scripted()

    said(conversation(folding=window(1), summariser=model), *TALK)

    assert model.seen == [("", ["q1", "a1"]), ("summary 1", ["q2", "a2"])]


def test_summariser_that_fails_is_stood_in_for_and_the_fold_says_so():
    memory = conversation(folding=window(1), summariser=Scripted(fails=True))

    said(memory, user("The blue car belongs to Tom"), user("b"))
    view = memory.read_view()

    assert view.summary == "- user: The blue car belongs to Tom"
    assert view.folds[0].author == "extractive (model x: TimeoutError)"


def test_summary_of_a_talkative_model_is_cut_to_a_quarter_of_the_budget():
    class Talkative:
        name = "talkative"

        def summarise(self, previous_summary: str, folded: Sequence[Message]) -> str:
            return "字" * 5_000

    folding = replace(tight(), max_messages=4)
    memory = conversation(folding=folding, summariser=Talkative())
    said(memory, *(assistant(f"{n} " + "word " * 40) for n in range(9)))

    assert len((memory.read_view()).summary) == 150 // 4


def test_view_tells_what_was_folded_why_and_by_what():
    memory = conversation(folding=FoldingPolicy(max_messages=2), summariser=Scripted())

    said(memory, *TALK[:3])
    view = memory.read_view()

    assert [one.content for one in view.messages] == ["a1", "q2"]
    [fold] = view.folds
    assert (fold.reason, fold.author) == (FoldReason.CAPACITY, "model x")
    [line] = fold.messages
    assert (line.role, line.excerpt, line.tokens_after) == (Role.USER, "q1", 0)
    assert line.tokens_before > 0


def test_view_tells_shortened_apart_from_dropped():
    memory = conversation(folding=tight())
    said(memory, assistant("", "c1"), result("c1", "r" * 900), user("a"), user("b"))

    [fold] = (memory.read_view()).folds

    assert (fold.reason, fold.author) == (FoldReason.TOKENS, "cut")
    assert [line.role for line in fold.messages] == [Role.TOOL]
    assert 0 < fold.messages[0].tokens_after < fold.messages[0].tokens_before


def test_view_keeps_the_newest_folds_only():
    memory = conversation(folding=window(1))
    said(memory, *(user(f"q{n}") for n in range(60)))

    folds = (memory.read_view()).folds

    assert len(folds) == 50
    assert folds[0].messages[0].excerpt == "q58"


def test_clear_forgets_this_conversation_and_nothing_else():
    entries = STORES.make()
    mine = conversation(entries, folding=window(1), summariser=ExtractiveSummariser())
    other = conversation(entries, conversation_id="c2")
    said(mine, *TALK)
    said(other, user("hello"))
    entries.store(StoreParams("conv:c1", "favourite", value="tea"))

    assert mine.clear() == 2

    assert mine.get_history() == ()
    assert (mine.read_view()).folds == ()
    assert [one.content for one in other.get_history()] == ["hello"]
    assert [one.key for one in entries.recall(MemoryQuery("conv:c1"))] == ["favourite"]


def test_result_of_a_folded_call_is_folded_at_once():
    memory = conversation(folding=window(1))
    said(memory, assistant("", "c1"), user("q"))
    kept = memory.add_message(result("c1", "too late"))

    view = memory.read_view()
    assert kept.id not in {one.id for one in view.messages}
    assert view.folds[0].reason is FoldReason.ORPHAN
    assert view.folds[0].messages[0].excerpt == "too late"


def test_two_writers_at_the_same_moment_lose_nothing():
    entries = STORES.make()
    frozen = Ticking().now
    writers = [
        ConversationMemory("c1", entries, new_id=counting(name), clock=lambda: frozen)
        for name in ("left", "right")
    ]
    for number in range(3):
        for writer in writers:
            writer.add_message(user(f"m{number}"))

    history = writers[0].get_history()
    assert [one.content for one in history] == ["m0", "m0", "m1", "m1", "m2", "m2"]


def test_extractive_summary_stays_within_its_length():
    """What says least makes room, repeats first; of equals the older."""
    summariser = ExtractiveSummariser(max_length=130)
    told = [
        user("Alice moved to Lyon with her two cats in May 2024."),
        user("It was a nice and quiet day."),
        user("Alice moved to Lyon with her two cats in May 2024."),
        assistant("Bob bought a red bicycle for 300 euros yesterday."),
        result("c1", "Tools are not heard here at all, whatever they say."),
    ]

    text = summariser.summarise("", told)

    assert text.splitlines() == [
        "- user: Alice moved to Lyon with her two cats in May 2024.",
        "- assistant: Bob bought a red bicycle for 300 euros yesterday.",
    ]
    assert summariser.summarise(text, []) == text


REFUSED = [
    Message(Role.TOOL, "no call named"),
    Message(Role.USER, "x", tool_call_id="c1"),
    Message(Role.USER, "x", tool_calls=(ToolCall("c1", "f"),)),
    Message(Role.ASSISTANT, "x", tool_calls=(ToolCall("", "f"),)),
    Message(Role.ASSISTANT, "x", tool_calls=(ToolCall("c1", "f"), ToolCall("c1", "g"))),
]


@for_each("message", REFUSED)
def test_message_that_makes_no_sense_is_refused(message: Message):
    with pytest.raises(InvalidInput):
        conversation().add_message(message)


def test_folding_that_makes_no_sense_is_refused():
    for wrong in (
        lambda: FoldingPolicy(max_turns=0),
        lambda: FoldingPolicy(max_messages=0),
        lambda: FoldingPolicy(compaction=Compaction(100, 100)),
        lambda: FoldingPolicy(compaction=Compaction(100, keep_recent=-1)),
    ):
        with pytest.raises(InvalidInput):
            wrong()
