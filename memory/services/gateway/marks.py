"""The mark of a value that is written: its origin, and whether an approval counts for it.

An approval belongs to the value for which a member gave it. A program says itself what it read outside. Only one whose key
may speak for people says that words are a person's, and approves anything.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from django.utils.translation import gettext as _

from accounts.roles import SPEAK_SCOPE
from memory.core.errors import AccessDenied
from memory.core.filters import is_same_json
from memory.core.records import Json, StoreParams
from memory.logic.entries.origins import (
    UNTRUSTED,
    copy_provenance,
    drop_approval,
    drop_review,
    is_approved,
)
from memory.services.gateway.caller import MemoryCaller
from memory.services.gateway.ingress_gate import Writer, get_writer


class Marked(Protocol):
    """An entry, or its row in a database."""

    @property
    def value(self) -> Json: ...
    @property
    def metadata(self) -> Mapping[str, Json]: ...


def mark_value(params: StoreParams, previous: Marked | None, caller: MemoryCaller) -> StoreParams:
    """Return the parameters with the origin and the review that the caller may state for the value.

    An approval stays if the ``previous`` entry has it for the same value. The engine has marked what a run writes.
    """
    if get_writer(caller) is Writer.RUN:
        return params
    is_same_value = previous is not None and is_same_json(previous.value, params.value)
    unchanged = previous if is_same_value else None
    if is_program(caller):
        if unchanged is None:
            return replace(params, metadata=mark_for_program(params.metadata))
        return replace(params, metadata=copy_provenance(params.metadata, unchanged.metadata))
    if unchanged is not None and is_approved(unchanged.metadata):
        return params
    return replace(params, metadata=drop_approval(params.metadata))


def is_program(caller: MemoryCaller) -> bool:
    """Return whether a program writes for itself: with a key that may not speak for people."""
    is_key = get_writer(caller) is Writer.KEY
    return is_key and not caller.principal.allows(SPEAK_SCOPE)


def get_program_origin(stated: Json) -> str:
    """Return the origin of what a program writes for itself: what it states if that is outside, or else an empty text."""
    return str(stated) if stated in UNTRUSTED else ""


def mark_for_program(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return the metadata that a program may state for a new value."""
    origin = get_program_origin(metadata.get("origin"))
    rest = {name: value for name, value in drop_review(metadata).items() if name != "origin"}
    return rest | {"origin": origin} if origin else rest


def check_may_approve(caller: MemoryCaller) -> None:
    if is_program(caller):
        raise AccessDenied(
            _(
                "Only people approve what waits for a review. The API key needs the permission memory:speak to do it for them."
            )
        )
