"""What may not be in use yet, though something of it is: kept apart under a key of its own, in quarantine.

Approved, it takes the place it was meant for.
"""

from dataclasses import replace
from typing import Final

from memory.core.records import StoreParams
from memory.core.values import MAX_KEY_LENGTH


MEANT_FOR: Final = "meant_for"  # in its metadata, the key of its place


def held_for(key: str, params: StoreParams) -> StoreParams:
    metadata = {**params.metadata, MEANT_FOR: key}
    return replace(params, key=held_key(key), metadata=metadata)


def held_key(key: str) -> str:
    return f"held:{key}"[:MAX_KEY_LENGTH]
