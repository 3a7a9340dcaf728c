from typing import Any

import pytest

from memory.core.errors import InvalidInput
from memory.core.scopes import ParsedNamespace, Scope, parse_namespace, resolve_namespace


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


@pytest.mark.parametrize(("scope", "variable"), MISSING)
@pytest.mark.parametrize("nothing", [None, "", True, [], {}])
def test_missing_system_variable_is_named(scope: str, variable: str, nothing: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"sys\.{variable} is not set"):
        resolve_namespace(scope, {variable: nothing})


def test_workflow_scope_without_a_group_names_it() -> None:
    with pytest.raises(InvalidInput, match=r"sys\.group_id"):
        resolve_namespace("workflow", {"workflow_id": "w"})


def test_unknown_scope_is_named_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'session'.*conversation, user"):
        resolve_namespace("session", KNOWN)


@pytest.mark.parametrize(
    "hostile", ["a:b", "a b", "аdmin", "admin\u200b", "a\n", "a\x00", "x" * 81, "日本"]
)
def test_id_that_could_be_mistaken_is_refused(hostile: str) -> None:
    with pytest.raises(InvalidInput, match=r"sys\.user_id"):
        resolve_namespace("user", {"user_id": hostile})
    with pytest.raises(InvalidInput):
        parse_namespace(f"user:{hostile}")


@pytest.mark.parametrize(
    "text", ["", "user", "user:", "User:x", "ai:memory:x", "ai:memory:x:", "x:y", "ai:notes:a:b"]
)
def test_text_that_is_no_namespace_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_namespace(text)


def test_longest_id_is_eighty() -> None:
    assert parse_namespace("user:" + "x" * 80) == ParsedNamespace(Scope.USER, ("x" * 80,))
