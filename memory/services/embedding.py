"""How far a team's memory can be found by meaning: for who looks after it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

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
    return EmbeddingState(embedder.name, "", entries, embedded, failing, newest, problem or "")
