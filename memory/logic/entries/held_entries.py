"""Entries in quarantine under a key of their own while their key is in use.

Once approved, such an entry is stored under the key that it was meant for.
"""

from dataclasses import replace
from typing import Final

from memory.core.records import StoreParams
from memory.core.values import MAX_KEY_LENGTH


TARGET_KEY: Final = "meant_for"  # in the metadata: the key that it replaces once approved


def hold_entry(key: str, params: StoreParams) -> StoreParams:
    metadata = {**params.metadata, TARGET_KEY: key}
    return replace(params, key=build_held_key(key), metadata=metadata)


def build_held_key(key: str) -> str:
    return f"held:{key}"[:MAX_KEY_LENGTH]
