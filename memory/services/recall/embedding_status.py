"""How far a team's memory can be found by meaning: for who looks after it."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from accounts.tenancy import tenant
from memory.embedding import column
from memory.embedding.embedders import configured


STATE = """
    SELECT count(*), count(*) FILTER (WHERE embedded_at IS NOT NULL AND model = %s),
           count(*) FILTER (WHERE attempts > 0),
           max(embedded_at) FILTER (WHERE model = %s),
           (array_agg(problem ORDER BY attempts DESC) FILTER (WHERE attempts > 0))[1]
    FROM memory_embedding WHERE team_id = %s
"""

# What embedders say of themselves, as their rows keep it; of plug-ins' and the network's own words there is no table.
SENTENCES: Final = (
    gettext_noop("The embedder gave no vectors."),
    gettext_noop("It gave %(given)s vectors for %(asked)s texts."),
    gettext_noop("It failed: %(error)s."),
    gettext_noop("It gave a vector that is none: not finite, or nothing but zeros."),
    gettext_noop("It gave %(given)s dimensions where %(expected)s were expected."),
    gettext_noop("Its vectors must all have as many dimensions, at most %(most)s."),
    gettext_noop("It took too long to answer."),
    gettext_noop("It answered no JSON."),
    gettext_noop("Its answer is not of the OpenAI protocol, or has too few vectors."),
    gettext_noop("Its answer leaves texts out."),
    gettext_noop("It sent a vector that can't be read."),
    gettext_noop("It limits how often it may be asked."),
    gettext_noop("It refused the key."),
    gettext_noop("It answered %(status)s."),
    gettext_noop("It couldn't be reached."),
)


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """``missing``: why nothing can be embedded at all; ``problem``: of those that failed, the most often tried."""

    embedder: str
    missing: str = ""
    entries: int = 0
    embedded: int = 0
    failing: int = 0
    newest: datetime | None = None
    problem: str = ""

    @property
    def waiting(self) -> int:
        return self.entries - self.embedded

    @property
    def percent(self) -> int:
        return 100 if not self.entries else self.embedded * 100 // self.entries


def embedding_state(team_id: UUID) -> EmbeddingState | None:
    """None: there is no embedder. Whether the caller may know is the caller's to have asked."""
    embedder = configured()
    if embedder is None:
        return None
    if not column.is_there():
        return EmbeddingState(embedder.name, missing=column.MISSING)
    with tenant([team_id]), connection.cursor() as cursor:
        cursor.execute(STATE, [embedder.name, embedder.name, team_id])
        entries, embedded, failing, newest, problem = cursor.fetchone()
    return EmbeddingState(
        embedder.name, "", entries, embedded, failing, newest, in_words(problem or "")
    )


def in_words(problem: str) -> str:
    """In the reader's language, as far as it is known what was said."""
    for sentence, pattern in _PATTERNS:
        if said := pattern.fullmatch(problem):
            return _(sentence) % said.groupdict()
    return problem


def _pattern(sentence: str) -> re.Pattern[str]:
    said = re.escape(sentence)
    return re.compile(re.sub(r"%\\\((\w+)\\\)s", r"(?P<\1>.+)", said))


_PATTERNS: Final = tuple((sentence, _pattern(sentence)) for sentence in SENTENCES)
