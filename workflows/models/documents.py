"""Convert documents to the JSON that snapshots store, which contains no secrets, and compute its hash."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256

from workflows.engine.language.document import Document, Json, VariableSpec
from workflows.engine.language.dsl import build_tree, load_document


def to_json(document: Document) -> dict[str, Json]:
    """Return the document as JSON of its own dialect, without the values of secret variables."""
    # "include_secrets" keeps the ids of credentials and webhooks, which an export blanks, because a snapshot stays in
    # its team.
    return build_tree(blank_secrets(document), include_secrets=True)


def from_json(stored: Mapping[str, Json]) -> Document:
    return load_document(stored, confirm_newer=True).document


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
