"""Memory in Valkey or Redis: fast, shared by all workers, and removed automatically once every entry has expired."""

from memory.providers.redis.provider import RedisProvider


__all__ = ["RedisProvider"]
