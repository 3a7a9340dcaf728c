"""Memory in Valkey or Redis: quick, shared by every worker, and gone by itself where everything ends."""

from memory.providers.redis.provider import RedisProvider


__all__ = ["RedisProvider"]
