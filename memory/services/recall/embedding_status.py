"""The state of a team's embeddings, for its administrators, and what the other pages say where there are none."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from accounts.tenancy import reading
from config.sql import read_queries
from memory.embedding import vector_column
from memory.embedding.embedders import find_embedder


QUERIES: Final = read_queries("memory/sql/queries/embeddings.sql")

# Messages of the built-in embedders as their rows store them, for translation. Other messages are shown as they are.
MESSAGES: Final = (
    gettext_noop("The embedder returned no vectors."),
    gettext_noop("The embedder returned %(given)s vectors instead of %(asked)s."),
    gettext_noop("The embedder failed: %(error)s."),
    gettext_noop("The embedder returned an invalid vector: not finite, or all zeros."),
    gettext_noop("The embedder returned %(given)s dimensions instead of %(expected)s."),
    gettext_noop("All vectors must have the same number of dimensions, at most %(most)s."),
    gettext_noop("The request timed out."),
    gettext_noop("The answer is not valid JSON."),
    gettext_noop("The answer doesn't follow the OpenAI protocol, or has too few vectors."),
    gettext_noop("The answer doesn't cover all texts."),
    gettext_noop("The answer contains an unreadable vector."),
    gettext_noop("Rate limit exceeded."),
    gettext_noop("The API key was rejected."),
    gettext_noop("The server answered with status %(status)s."),
    gettext_noop("The server can't be reached."),
)


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """The counts and problems of a team's embeddings.

    ``missing`` is the reason if nothing can be embedded at all. ``problem`` is the last problem of the entry that has
    failed most often.
    """

    embedder: str
    missing: str = ""
    entries: int = 0
    embedded: int = 0
    failing: int = 0
    newest: datetime | None = None
    problem: str = ""

    @property
    def waiting(self) -> int:
        """Return the number of entries without a vector of the current embedder, failing ones included."""
        return self.entries - self.embedded

    @property
    def percent(self) -> int:
        return 100 if not self.entries else self.embedded * 100 // self.entries


def explain_words_only(team_id: UUID) -> str:
    """Return why search matches words only and how to change that, or an empty string if it also finds by meaning."""
    if find_embedder(team_id) is None:
        return _(
            "Search by meaning is off: only words match. To turn it on, connect an embedding model on the page Models, or your operator sets MEMORY_EMBEDDER=local."
        )
    if not vector_column.exists():
        return _(
            "The database has no pgvector extension, so search matches words only. Your operator can install it."
        )
    return ""


def load_embedding_state(team_id: UUID) -> EmbeddingState | None:
    """Return the state of the team's embeddings, or None without an embedder. The caller must check the permission."""
    embedder = find_embedder(team_id)
    if embedder is None:
        return None
    if not vector_column.exists():
        return EmbeddingState(embedder.name, missing=vector_column.MISSING)
    with reading([team_id]), connection.cursor() as cursor:
        cursor.execute(QUERIES["status"], [embedder.name, embedder.name, team_id])
        entries, embedded, failing, newest, problem = cursor.fetchone()
    return EmbeddingState(
        embedder.name, "", entries, embedded, failing, newest, translate_problem(problem or "")
    )


def translate_problem(problem: str) -> str:
    """Translate a stored problem. One that is not among ``MESSAGES`` is returned unchanged."""
    for message, pattern in _PATTERNS:
        if match := pattern.fullmatch(problem):
            return _(message) % match.groupdict()
    return problem


def _build_pattern(message: str) -> re.Pattern[str]:
    """Build the pattern of the messages with any values in the place of the placeholders."""
    escaped = re.escape(message)
    return re.compile(re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+)", escaped))


_PATTERNS: Final = tuple((message, _build_pattern(message)) for message in MESSAGES)
