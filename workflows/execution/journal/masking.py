"""The redactor of a run: secrets are masked in the text of a row before the row is written.

A step's outputs are also what a later attempt goes on from, so the mask can be taken off again:
it names the secret, and carries a mark that only this installation can compute. Text that merely
looks like a mask (a person may type one) has not got that mark and stays text.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256

from django.conf import settings

from config.redaction import Redactor, list_forms


def mask_for(run_id: str, secrets: Mapping[str, str]) -> Redactor:
    """Return the redactor for secrets by name; of two names for one value the first in order counts."""
    masks: dict[str, str] = {}
    for name, value in sorted(secrets.items()):
        for number, form in enumerate(list_forms(value)):
            masks.setdefault(form, f"[secret {name} {_mark(run_id, name, number)}]")
    return Redactor(masks)


def _mark(run_id: str, name: str, number: int) -> str:
    """Return what tells this mask from any other text, and this form of the secret from the others."""
    text = f"mask:{run_id}:{name}:{number}"
    return hmac.new(settings.SECRET_KEY.encode(), text.encode(), sha256).hexdigest()[:12]
