"""Memory in PostgreSQL: the default. Rows in ``rows``, filters as SQL in ``filters``."""

from memory.providers.postgres.provider import PostgresProvider


__all__ = ["PostgresProvider"]
