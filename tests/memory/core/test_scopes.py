from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.core.errors import InvalidInput
from memory.core.identifiers import is_identifier, normalize_identifier
from memory.core.scope_kinds import ScopeKind, SeenBy
from memory.core.scopes import (
    ParsedNamespace,
    Scope,
    build_metadata_namespace,
    build_notes_namespace,
    build_stream_name,
    check_namespace_text,
    compute_lifetime,
    list_scope_kinds,
    parse_namespace,
    plug_in,
    require_variable,
    resolve_namespace,
)
from tests.support.cases import for_each


KNOWN = {
    "conversation_id": "c1",
    "user_id": 42,
    "app_id": "app",
    "workflow_id": "w1",
    "group_id": "g1",
    "run_id": "r1",
}

RESOLVED = [
    ("conversation", KNOWN, "conv:c1"),
    ("user", KNOWN, "user:42"),
    ("global", KNOWN, "global:app"),
    ("global", {}, "global:default"),
    ("workflow", KNOWN, "ai:memory:w1:g1"),
    ("workflow", KNOWN | {"workflow_names": ["chat", "desktop"]}, "ai:memory:chat-desktop:g1"),
    ("run", KNOWN, "ai:notes:r1"),
]


@pytest.mark.parametrize(("scope", "identity", "namespace"), RESOLVED)
def test_scope_word_means_this_namespace(
    scope: str, identity: dict[str, Any], namespace: str
) -> None:
    assert resolve_namespace(scope, identity) == namespace
    assert parse_namespace(namespace).text == namespace
    assert parse_namespace(namespace).scope == scope


MISSING = [
    ("conversation", "conversation_id"),
    ("user", "user_id"),
    ("workflow", "workflow_id"),
    ("run", "run_id"),
]


@for_each("scope, variable", MISSING)
@for_each("nothing", [None, "", True, [], {}])
def test_missing_system_variable_is_named(scope: str, variable: str, nothing: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"sys\.{variable} is not set"):
        resolve_namespace(scope, {variable: nothing})


def test_workflow_scope_without_a_group_names_it() -> None:
    with pytest.raises(InvalidInput, match=r"sys\.group_id"):
        resolve_namespace("workflow", {"workflow_id": "w"})


def test_unknown_scope_is_named_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'session'.*conversation, user"):
        resolve_namespace("session", KNOWN)


@pytest.mark.parametrize("hostile", [" ", "a\x00", "x" * 81, ":" * 27, "\ud800"])
def test_id_that_no_store_could_keep_is_refused(hostile: str) -> None:
    with pytest.raises(InvalidInput, match=r"sys\.user_id"):
        resolve_namespace("user", {"user_id": hostile})
    with pytest.raises(InvalidInput):
        parse_namespace(f"user:{hostile}")


@for_each(
    "user_id, namespace",
    [
        ("用户甲", "user:用户甲"),
        ("项目:甲", "user:项目%3A甲"),
        (" e\u0301\n", "user:é"),
        ("a:b", "user:a%3Ab"),
        ("a%3Ab", "user:a%253Ab"),
        ("a b", "user:a%20b"),
        ("аdmin", "user:аdmin"),  # of another script, and another person
        ("admin\u200b", "user:admin%E2%80%8B"),
    ],
)
def test_id_is_any_text(user_id: str, namespace: str) -> None:
    """issue 11: identifiers are normalised, limited in length, colons escaped."""
    assert resolve_namespace("user", {"user_id": user_id}) == namespace
    assert parse_namespace(namespace).text == namespace


IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20) | (
    st.text(st.sampled_from(":%25甲 a\té́"), max_size=12)
)


@given(IDS, IDS)
def test_namespace_is_read_back_as_it_was_built(stream: str, group: str) -> None:
    identity = {"workflow_id": stream, "group_id": group}
    if not all(is_identifier(normalize_identifier(one)) for one in (stream, group)):
        with pytest.raises(InvalidInput):
            resolve_namespace("workflow", identity)
        return

    parsed = parse_namespace(resolve_namespace("workflow", identity))

    assert parsed.ids == (normalize_identifier(stream), normalize_identifier(group))
    assert parse_namespace(parsed.text) == parsed


@given(st.lists(IDS, min_size=4, max_size=4))
def test_two_pairs_of_ids_never_share_a_namespace(ids: list[str]) -> None:
    first, second = (tuple(map(normalize_identifier, pair)) for pair in (ids[:2], ids[2:]))

    texts = [ParsedNamespace(Scope.WORKFLOW, pair).text for pair in (first, second)]

    assert (texts[0] == texts[1]) == (first == second)


@pytest.mark.parametrize("text", ["user:a%b", "user:%41", "user:%3a", "user:a:b", "user:%ED%A0%80"])
def test_namespace_that_is_not_escaped_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a namespace"):
        parse_namespace(text)


def test_colon_in_an_id_gets_a_hint_how_to_escape_it() -> None:
    with pytest.raises(InvalidInput, match=r"'user:a:b' is not a namespace\. .* user:a%3Ab$"):
        parse_namespace("user:a:b")


@pytest.mark.parametrize("text", ["user: Zoë Smith ", "user:Zoe\u0308 Smith", "user:Zoë%20Smith"])
def test_namespace_that_a_person_types_is_normalized(text: str) -> None:
    assert parse_namespace(text).text == "user:Zoë%20Smith"


def test_provider_takes_a_namespace_in_its_one_spelling() -> None:
    check_namespace_text("user:é")
    with pytest.raises(InvalidInput, match="normalized"):
        check_namespace_text("user:e\u0301")


@for_each(
    "text", ["", "user", "user:", "User:x", "ai:memory:x", "ai:memory:x:", "x:y", "ai:notes:a:b"]
)
def test_text_that_is_no_namespace_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_namespace(text)


def test_longest_id_is_eighty() -> None:
    assert parse_namespace("user:" + "x" * 80) == ParsedNamespace(Scope.USER, ("x" * 80,))


def _kind(word: str = "device", prefix: str = "device", **more: Any) -> ScopeKind:
    return ScopeKind(
        word, prefix, lambda identity: (require_variable(word, "device_id", identity),), **more
    )


@pytest.fixture
def plugged() -> Iterator[None]:
    yield
    plug_in(())


def test_plugged_scope_resolves_and_parses_like_any_other(plugged: None) -> None:
    plug_in([_kind()])

    assert resolve_namespace("device", {"device_id": "d1"}) == "device:d1"
    assert parse_namespace("device:d1") == ParsedNamespace("device", ("d1",))
    assert parse_namespace("device:d1").seen_by is SeenBy.RUN
    with pytest.raises(InvalidInput, match=r"sys\.device_id is not set"):
        resolve_namespace("device", {})
    plug_in(())
    with pytest.raises(InvalidInput, match="Unknown memory scope 'device'"):
        resolve_namespace("device", {"device_id": "d1"})
    with pytest.raises(InvalidInput, match="is not a namespace"):
        parse_namespace("device:d1")


@pytest.mark.parametrize("made", [(), ("a", "b"), ("a\x00",), ("",), (" ",), (7,)])
def test_ids_of_a_plug_in_are_checked(plugged: None, made: tuple[Any, ...]) -> None:
    plug_in([ScopeKind("device", "device", lambda _: made)])

    with pytest.raises(InvalidInput):
        resolve_namespace("device", {})


REFUSED = [
    ([_kind("user", "person")], "two scopes named 'user'"),
    ([_kind("people", "user")], "would share namespaces"),
    ([_kind("people", "user:x")], "would share namespaces"),
    ([_kind("a", "dev"), _kind("b", "dev:x")], "would share namespaces"),
    ([_kind("mine", "ai:mine")], "reserved"),
    ([_kind("mine", "ai")], "reserved"),
    ([_kind("Device", "device")], "lowercase"),
    ([_kind("device", "De vice")], "prefix"),
    ([_kind("device", "a:b:c")], "prefix"),
    ([_kind("device", "x" * 37)], "prefix"),
    ([_kind(arity=3)], "1 to 2 ids"),
]


@for_each("kinds, why", REFUSED)
def test_conflict_or_bad_grammar_is_refused_and_nothing_is_plugged_in(
    kinds: list[ScopeKind], why: str
) -> None:
    before = list_scope_kinds()

    with pytest.raises(InvalidInput, match=why):
        plug_in(kinds)

    assert list_scope_kinds() == before


# -- streams, notes, metadata -----------------------------------------------------------------------


def _workflow(group: str, *names: str) -> str:
    return resolve_namespace("workflow", {"workflow_names": list(names), "group_id": group})


def test_every_stream_and_group_has_a_namespace_of_its_own() -> None:
    places = [
        _workflow("group_123", "chat"),
        _workflow("group_123", "desktop"),
        _workflow("group_123", "chat", "desktop"),
        _workflow("group_456", "chat"),
    ]

    assert places == [
        "ai:memory:chat:group_123",
        "ai:memory:desktop:group_123",
        "ai:memory:chat-desktop:group_123",
        "ai:memory:chat:group_456",
    ]


def test_order_of_merged_streams_is_part_of_the_name() -> None:
    assert build_stream_name(["chat", "desktop"]) == "chat-desktop"
    assert build_stream_name(["desktop", "chat"]) == "desktop-chat"


def test_long_merged_stream_still_fits_and_still_differs() -> None:
    ids = [f"019a{n:032x}" for n in range(5)]
    names = {build_stream_name(ids[:n]) for n in range(1, 6)} | {
        build_stream_name([*ids[:4], "other"])
    }

    assert len(names) == 6
    assert all(len(name) <= 80 for name in names)
    for name in names:
        assert parse_namespace(f"ai:memory:{name}:g").ids == (name, "g")


@pytest.mark.parametrize("names", [["a\x00"], [" "], [""], [None], ["x" * 81]])
def test_stream_of_names_that_can_name_none_is_refused(names: list[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"sys\.workflow_names"):
        resolve_namespace("workflow", {"workflow_names": names, "group_id": "g"})


def test_namespaces_of_a_run_are_its_notes_and_what_it_is_about() -> None:
    run = "workflow_1234567890_abc123"

    assert build_notes_namespace(run) == f"ai:notes:{run}"
    assert build_metadata_namespace(run) == f"ai:workflow:{run}"
    assert parse_namespace(f"ai:workflow:{run}") == ParsedNamespace("run_metadata", (run,))
    assert parse_namespace(f"ai:workflow:{run}").seen_by is SeenBy.RUN


def test_no_author_can_name_what_a_run_is_about() -> None:
    with pytest.raises(
        InvalidInput, match="Unknown memory scope 'run_metadata'; use one of"
    ) as why:
        resolve_namespace("run_metadata", KNOWN)

    assert "run_metadata" not in str(why.value).partition("use one of")[2]


@pytest.mark.parametrize(
    ("scope", "asked", "life"),
    [
        ("run", None, 1800),
        ("run", 60, 60),
        ("run", 86400, 1800),
        ("run_metadata", None, 259200),
        ("workflow", None, None),
        ("user", None, None),
        ("user", 86400, 86400),
    ],
)
def test_entry_lives_as_long_as_asked_and_the_scope_lets_it(
    scope: str, asked: float | None, life: float | None
) -> None:
    assert compute_lifetime(scope, asked) == life
