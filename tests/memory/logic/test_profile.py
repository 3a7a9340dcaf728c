"""What is in a profile by itself, what a person's choice changes, and what fits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.core.records import MemoryEntry, PromptUse, StoreParams
from memory.logic.conversations.messages import estimate_tokens
from memory.logic.profile import (
    MAX_TOKENS,
    build_profile,
    build_profile_query,
    get_prompt_use,
    inherit_prompt_use,
    keep_prompt_use,
)
from memory.providers.in_memory import InMemoryProvider
from tests.support.cases import for_each
from workflows.engine.nodes.memory.quoting import render_profile


START = datetime(2026, 1, 1, tzinfo=UTC)
HERE = "user:mia"


def entry(key: str, text: str = "tea", use: PromptUse = PromptUse.AUTO, **more: Any) -> MemoryEntry:
    age = more.pop("age", 0)
    moment = START - timedelta(days=age)
    return MemoryEntry(key, HERE, key, value=text, prompt_use=use, metadata=more, updated_at=moment)


DEFAULTS: list[tuple[dict[str, Any], PromptUse]] = [
    ({"attribute": "name"}, PromptUse.ALWAYS),
    ({"attribute": "language"}, PromptUse.ALWAYS),
    ({"attribute": "other", "kind": "instruction"}, PromptUse.ALWAYS),
    ({"attribute": "home"}, PromptUse.RELEVANT),
    ({}, PromptUse.RELEVANT),
    ({"attribute": "name", "about": "other"}, PromptUse.RELEVANT),
    ({"attribute": "name", "origin": "web"}, PromptUse.RELEVANT),
    ({"attribute": "other", "kind": "instruction", "origin": "tool"}, PromptUse.RELEVANT),
    ({"attribute": "name", "origin": "web", "review": "approve"}, PromptUse.ALWAYS),
    ({"attribute": ["name"]}, PromptUse.RELEVANT),
]


@for_each("metadata, use", DEFAULTS)
def test_what_an_entry_is_decides_unless_somebody_chose(
    metadata: dict[str, Any], use: PromptUse
) -> None:
    assert get_prompt_use(entry("k", **metadata)) is use
    for chosen in (PromptUse.ALWAYS, PromptUse.RELEVANT, PromptUse.NEVER):
        assert get_prompt_use(entry("k", use=chosen, **metadata)) is chosen


def test_query_and_profile_agree_on_every_default() -> None:
    memory = InMemoryProvider()
    for number, (metadata, _use) in enumerate(DEFAULTS):
        for use in PromptUse:
            memory.store(
                StoreParams(HERE, f"{number}-{use}", value="x", metadata=metadata, prompt_use=use)
            )

    hits = memory.recall(build_profile_query(HERE))
    profile = {each.key for each in build_profile(hits).entries}

    assert profile == {
        *(f"{number}-always" for number in range(len(DEFAULTS))),
        *(
            f"{number}-auto"
            for number, (_metadata, use) in enumerate(DEFAULTS)
            if use is PromptUse.ALWAYS
        ),
    }


def test_chosen_come_first_newest_first_then_name_language_and_instructions() -> None:
    profile = build_profile(
        [
            entry("french", kind="instruction", age=1),
            entry("short", kind="instruction", age=9),
            entry("german", attribute="language"),
            entry("ana", attribute="name", age=30),
            entry("old", use=PromptUse.ALWAYS, age=20),
            entry("new", use=PromptUse.ALWAYS, age=10),
            entry("home", attribute="home"),
        ]
    )

    keys = [each.key for each in profile.entries]
    assert keys == ["new", "old", "ana", "german", "french", "short"]
    assert profile.left_out == ()
    assert all(each.explain == {"always": 1.0} and each.score is None for each in profile.entries)


def test_profile_has_at_most_300_tokens_and_says_what_has_no_room() -> None:
    pinned = [
        entry(f"p{number:02}", "word " * 30, PromptUse.ALWAYS, age=number) for number in range(12)
    ]
    long = entry("long", "x" * 5_000, PromptUse.ALWAYS, age=-1)

    profile = build_profile([*pinned, long, entry("name", "I'm Ana.", attribute="name")])

    kept = [each.key for each in profile.entries]
    assert kept == [f"p{number:02}" for number in range(len(kept) - 1)] + ["name"]
    assert profile.left_out[0].key == "long"
    assert len(profile.entries) + len(profile.left_out) == 14
    assert estimate_tokens(render_profile(profile.entries)) <= profile.tokens <= MAX_TOKENS


def test_tokens_of_the_entries_leave_out_the_heading_of_the_profile() -> None:
    profile = build_profile([entry("name", "I'm Ana.", attribute="name")])

    assert profile.entry_tokens == estimate_tokens('- "I\'m Ana."\n')
    assert build_profile([]).entry_tokens == 0


@pytest.mark.parametrize("text", ["我叫安娜，请用中文回答。" * 40, {"said": ["word"] * 200}])
def test_text_of_any_script_and_shape_is_counted(text: Any) -> None:
    profile = build_profile([entry("k", text, PromptUse.ALWAYS)])

    assert (len(profile.entries), len(profile.left_out), profile.tokens) == (0, 1, 0)


def test_choice_stays_when_the_entry_is_written_again() -> None:
    params, never = StoreParams(HERE, "k", value="tea"), entry("k", use=PromptUse.NEVER)

    assert keep_prompt_use(params, never).prompt_use is PromptUse.NEVER
    assert keep_prompt_use(params, None) == params
    chosen = StoreParams(HERE, "k", value="tea", prompt_use=PromptUse.RELEVANT)
    assert keep_prompt_use(chosen, never) == chosen


@pytest.mark.parametrize(
    ("replaced", "use"),
    [
        ([], PromptUse.AUTO),
        ([PromptUse.AUTO], PromptUse.AUTO),
        ([PromptUse.AUTO, PromptUse.RELEVANT], PromptUse.RELEVANT),
        ([PromptUse.ALWAYS, PromptUse.RELEVANT], PromptUse.ALWAYS),
        ([PromptUse.ALWAYS, PromptUse.NEVER], PromptUse.NEVER),
    ],
)
def test_fact_that_takes_the_place_of_others_inherits_their_choice(
    replaced: list[PromptUse], use: PromptUse
) -> None:
    assert inherit_prompt_use([entry("k", use=each) for each in replaced]) is use
