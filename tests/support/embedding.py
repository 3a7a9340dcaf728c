"""An embedder whose vectors anybody can work out, registered as a plug-in's would be."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from config.plugins import get_plugin_manager, hookimpl
from memory.core.recall.embedding import Embedder


# Words of one row mean the same to it; what it doesn't know means nothing in particular.
CONCEPTS = (
    ("boat", "ship", "vessel", "船", "小船"),
    ("cat", "kitten", "feline", "猫"),
    ("car", "automobile", "vehicle"),
    ("bread", "loaf", "baguette"),
)
NOTHING = 0.05


class Tiny(Embedder):
    name = "tiny/1"
    dimensions = len(CONCEPTS) + 1
    batch = 4

    def __init__(self, *_options: Any) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.answers: Callable[[Sequence[str]], Any] | None = None  # instead of its own

    def embed(self, texts: Sequence[str], *, question: bool, seconds: float) -> Any:
        self.asked += [(text, question) for text in texts]
        return [vector(text) for text in texts] if self.answers is None else self.answers(texts)

    @property
    def questions(self) -> list[str]:
        return [text for text, question in self.asked if question]

    @property
    def texts(self) -> list[str]:
        return [text for text, question in self.asked if not question]


def vector(text: str) -> list[float]:
    said = text.casefold()
    return [float(sum(said.count(word) for word in row)) for row in CONCEPTS] + [NOTHING]


@pytest.fixture
def tiny(settings: Any) -> Iterator[Tiny]:
    """In use until the test ends."""
    made = Tiny()

    class Plugin:
        @hookimpl
        def embedders(self) -> dict[str, Any]:
            return {"tiny": lambda options: made}

    plugin = Plugin()
    get_plugin_manager().register(plugin)
    settings.MEMORY_EMBEDDER = "tiny"
    forget()
    yield made
    get_plugin_manager().unregister(plugin)
    forget()


@pytest.fixture(scope="session", autouse=True)
def remembered_choices() -> Iterator[None]:
    """A team's choice lasts as long as the tests: looked up again every five seconds, it would add to counted queries."""
    # Inline import: Django is set up later than the plug-ins of pytest are loaded.
    from memory.embedding import team_models

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team_models, "LIFETIME", 24 * 60 * 60.0)
        yield


def forget() -> None:
    """What a process remembers of its embedder."""
    from memory.embedding import embedders, query_embedding, team_models, vector_column
    from memory.upkeep import embedding

    embedders._create_embedder.cache_clear()
    vector_column.reset_cache()
    team_models.clear_choices()
    query_embedding.clear_cache()
    embedding.reset_checks()
    embedding._DIMENSIONS.clear()
    embedding._PAUSED_UNTIL.clear()
