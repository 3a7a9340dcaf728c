"""Memory in Valkey or Redis: fast, shared by all workers, and removed by itself once every entry has expired."""

from memory.providers.redis.provider import RedisProvider


__all__ = ["RedisProvider"]
