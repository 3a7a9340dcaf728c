"""The page of limits says how far memory can be found by meaning, to those who look after it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from memory import services
from memory.core.recall import embedding as contract
from memory.core.recall.embedding import EmbedderFault
from memory.embedding import openai_compatible
from memory.services.recall import embedding_status
from memory.services.recall.embedding_status import translate_problem
from memory.upkeep.embedding import embed_team
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, signed_in
from tests.support.embedding import Tiny
from tests.support.markup import markup_of


pytestmark = pytest.mark.django_db


def shown(client: Client) -> str:
    return " ".join(markup_of(client.get(reverse("memory:policy"))).split())


def test_admins_see_how_far_it_is_and_what_fails(cast: Cast, tiny: Tiny) -> None:
    for key in "ab":
        services.remember(at_door(cast.alice), namespace="global:page", key=key, value="a boat")
    embed_team(cast.team_a.pk)
    tiny.answers = lambda texts: []
    services.remember(at_door(cast.alice), namespace="global:page", key="c", value="a boat")
    embed_team(cast.team_a.pk)

    page = shown(signed_in(cast.alice.user))

    assert "Semantic search" in page
    assert "2 / 3" in page
    assert "tiny/1" in page
    assert "Failed: 1." in page
    assert "The embedder returned 0 vectors instead of 1." in page


def test_members_who_change_no_limits_see_nothing_of_it(cast: Cast, tiny: Tiny) -> None:
    assert "Semantic search" not in shown(signed_in(cast.bob.user))
    assert "Semantic search" in shown(signed_in(cast.alice.user))


def test_without_an_embedder_there_is_nothing_to_say(cast: Cast) -> None:
    assert "Semantic search" not in shown(signed_in(cast.alice.user))


def said_in(module: object) -> Iterator[str]:
    """Every sentence of a module about its embedder, with a number for each value in it."""
    tree = ast.parse(Path(str(vars(module)["__file__"])).read_text("utf-8"))
    parts = {
        id(part) for one in ast.walk(tree) if isinstance(one, ast.JoinedStr) for part in one.values
    }
    parts |= {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}  # docstrings
    for one in ast.walk(tree):
        if isinstance(one, ast.JoinedStr):
            said = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "7" for part in one.values
            )
        elif isinstance(one, ast.Constant) and id(one) not in parts:
            said = str(one.value)
        else:
            continue
        if said.startswith(("The ", "All ", "Rate ")) and said.endswith("."):
            yield said


def test_whatever_an_embedder_says_of_itself_is_said_in_the_readers_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedding_status, "_", lambda sentence: f"in Chinese: {sentence}")

    said = [str(EmbedderFault()), *said_in(contract), *said_in(openai_compatible)]

    assert "The server answered with status 7." in said
    assert len(said) > 10
    assert [translate_problem(one) for one in said] == [f"in Chinese: {one}" for one in said]
    assert translate_problem("A plug-in’s own words: 503.") == "A plug-in’s own words: 503."
