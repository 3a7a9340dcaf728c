"""Quarantined entries under separate keys, because their target keys are in use.

Once such an entry is approved, it is stored under its target key.
"""

from dataclasses import replace
from typing import Final

from memory.core.records import StoreParams
from memory.core.values import MAX_KEY_LENGTH


TARGET_KEY: Final = "meant_for"  # the name of the target key in the metadata


def hold_entry(key: str, params: StoreParams) -> StoreParams:
    """Return the parameters that store the entry under a separate key until it is approved for ``key``."""
    metadata = {**params.metadata, TARGET_KEY: key}
    return replace(params, key=build_held_key(key), metadata=metadata)


def build_held_key(key: str) -> str:
    return f"held:{key}"[:MAX_KEY_LENGTH]
