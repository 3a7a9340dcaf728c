"""The redactor of a run: it masks secrets in the text of a row before the row is written.

A later attempt continues from a step's outputs, so it removes the masks again. A mask contains the name of the secret
and a marker that only this installation can compute, so that text that a person typed is never taken for a mask.
"""

import hmac
from collections.abc import Collection, Mapping
from hashlib import sha256
from uuid import UUID

from django.conf import settings

from config.encryption.crypto import decrypt
from config.redaction import Redactor, list_forms
from workflows.models import WorkflowSecret


def load_secrets(workflow_id: UUID, names: Collection[str] | None = None) -> dict[str, str]:
    """Return the current values of a workflow's secrets by name: all of them, or those with these names."""
    rows = WorkflowSecret.objects.unscoped().filter(workflow_id=workflow_id)
    if names is not None:
        rows = rows.filter(name__in=names)
    return {row.name: decrypt(bytes(row.secret)) for row in rows}


def load_secret_values(workflow_id: UUID) -> tuple[str, ...]:
    """Return the values of all secrets. By name one could be missing, since variables of two areas may share a name."""
    rows = WorkflowSecret.objects.unscoped().filter(workflow_id=workflow_id)
    return tuple(decrypt(bytes(row.secret)) for row in rows)


def build_run_redactor(run_id: str, secrets: Mapping[str, str]) -> Redactor:
    """Return the redactor for secrets by name. A value that two secrets share is masked by the first name."""
    masks: dict[str, str] = {}
    for name, value in sorted(secrets.items()):
        for number, form in enumerate(list_forms(value)):
            masks.setdefault(form, f"[secret {name} {_compute_marker(run_id, name, number)}]")
    return Redactor(masks)


def _compute_marker(run_id: str, name: str, number: int) -> str:
    """Return the marker that distinguishes the masks of different secrets, and of the forms of one secret."""
    text = f"mask:{run_id}:{name}:{number}"
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), sha256).hexdigest()[:12]
