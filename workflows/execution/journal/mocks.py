"""The mocks of a run as its row has them: with the secrets of its workflow masked, as in every row of a run."""

from collections.abc import Mapping
from json import loads

from config.redaction import Redactor
from workflows.engine.language.document import Json
from workflows.engine.testing.mocks import Mocks
from workflows.execution.journal.codec import dump


def mask_mocks(mocks: Mapping[str, Json] | None, redactor: Redactor) -> Mapping[str, Json] | None:
    """Return the mocks as they are stored."""
    if not mocks or not redactor:
        return mocks
    masked: Mapping[str, Json] = loads(redactor.redact_json_text(dump(mocks)))
    return masked


def restore_mocks(
    mocks: Mapping[str, Json] | None, redactor: Redactor
) -> Mapping[str, Json] | None:
    """Return stored mocks with their secrets."""
    if not mocks or not redactor:
        return mocks
    restored: Mapping[str, Json] = loads(redactor.restore_json_text(dump(mocks)))
    return restored


def read_mocks(mocks: Mapping[str, Json] | None, redactor: Redactor) -> Mocks | None:
    """Return the mocks with which a run is executed, or None if it has none."""
    restored = restore_mocks(mocks, redactor)
    return Mocks(restored) if restored else None
