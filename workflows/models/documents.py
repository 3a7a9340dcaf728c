"""Convert documents to the JSON that snapshots store, which contains no secrets, and compute its hash."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Final
from uuid import UUID

from workflows.engine.language.document import Document, Json, VariableSpec
from workflows.engine.language.dsl import build_tree, load_document


if TYPE_CHECKING:
    from workflows.models.version import Snapshot

CACHE_SIZE: Final = 128

_documents: OrderedDict[UUID, Document] = OrderedDict()  # the most recently read last
_lock = Lock()


def to_json(document: Document) -> dict[str, Json]:
    """Return the document as JSON of its own dialect, without the values of secret variables."""
    # "include_secrets" keeps the ids of credentials and webhooks, which an export blanks, because a snapshot stays in
    # its team.
    return build_tree(blank_secrets(document), include_secrets=True)


def from_json(stored: Mapping[str, Json]) -> Document:
    return load_document(stored, confirm_newer=True).document


def read_document(snapshot: Snapshot) -> Document:
    """Return the document of a snapshot, which each process reads once: to read a large one takes longer than to start its run.

    Snapshots never change. A column that was deferred isn't fetched for a document that is here.
    """
    with _lock:
        if snapshot.pk in _documents:
            _documents.move_to_end(snapshot.pk)
            return _documents[snapshot.pk]
    document = from_json(snapshot.document)
    with _lock:
        _documents[snapshot.pk] = document
        while len(_documents) > CACHE_SIZE:
            _documents.popitem(last=False)
    return document


def compute_hash(stored: Mapping[str, Json]) -> str:
    """Return the hash of a stored document, which doesn't depend on the order of its keys."""
    text = json.dumps(stored, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


def blank_secrets(document: Document) -> Document:
    """Return the document with every secret value blanked, so that it may be stored and shown."""
    return replace(
        document,
        environment=_blank_secrets(document.environment),
        conversation=_blank_secrets(document.conversation),
    )


def is_secret(variable_type: str) -> bool:
    return variable_type.strip().lower() == "secret"


def _blank_secrets(variables: Iterable[VariableSpec]) -> tuple[VariableSpec, ...]:
    return tuple(
        replace(variable, value="") if is_secret(variable.value_type) else variable
        for variable in variables
    )
