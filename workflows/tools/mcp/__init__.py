"""MCP servers as tools: opens a session over HTTP or with a process, lists the tools of a server, and calls one."""

from typing import Final


# The field of a call's ``_meta`` with its idempotency key. Every transport has one, and each call of a connection its own.
IDEMPOTENCY_META: Final = "mnemoflow/idempotencyKey"
# The field of a result's ``_meta`` that is true if an earlier call with the same key has started what it tells of.
REPLAYED_META: Final = "mnemoflow/idempotentReplayed"
