"""The stored secrets of a team, so that what a model writes can be refused if one of them is in it."""

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from uuid import UUID

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from workflows.engine.language.document import Json
from workflows.execution.journal.masking import load_secret_values
from workflows.execution.threads import run_in_thread
from workflows.models import Credential, RunSubscription, Trigger
from workflows.tools.secret_finder import SecretFinder
from workflows.tools.signed_in.secrets import list_sign_in_secrets


class StoredSecrets:
    """Implements ``engine.ports.SecretPort`` for one attempt at a run, which reads the secrets when it first asks."""

    def __init__(self, team_id: UUID, workflow_id: UUID) -> None:
        self._load = partial(_build_finder, team_id, workflow_id)
        self._finder: SecretFinder | None = None

    async def is_in(self, value: Json) -> bool:
        """Return whether one of them is in the value. A long text is read in a thread, as other runs go on meanwhile."""
        if self._finder is None:
            self._finder = await run_in_thread(self._load)
        return await asyncio.to_thread(self._finder.is_in, value)


def _build_finder(team_id: UUID, workflow_id: UUID) -> SecretFinder:
    with tenant([team_id]):
        return SecretFinder(_iter_secrets(team_id, workflow_id))


def _iter_secrets(team_id: UUID, workflow_id: UUID) -> Iterator[str]:
    """Yield the credentials, the tokens of sign-ins, and the addresses and secrets of webhooks, of the team, and the workflow's own secrets.

    Secret variables of other workflows are left out: their authors may have chosen a word that every text has.
    """
    yield from (decrypt(bytes(sealed)) for sealed in _list_sealed(team_id) if sealed)
    yield from load_secret_values(workflow_id)


def _list_sealed(team_id: UUID) -> Iterable[bytes | memoryview | None]:
    credentials = Credential.objects.unscoped().filter(team_id=team_id)
    triggers = Trigger.objects.unscoped().filter(team_id=team_id)
    subscriptions = RunSubscription.objects.unscoped().filter(team_id=team_id)
    return chain(
        credentials.values_list("secret", flat=True),
        chain.from_iterable(triggers.values_list("sealed_token", "sealed_secret")),
        subscriptions.values_list("sealed_secret", flat=True),
        list_sign_in_secrets(team_id),
    )
