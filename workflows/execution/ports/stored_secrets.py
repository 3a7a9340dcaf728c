"""The stored secrets of a team, so that what a model writes can be refused if one of them is in it."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Final
from uuid import UUID

from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from workflows.engine.language.document import Json
from workflows.execution.journal.masking import load_secret_values
from workflows.execution.threads import run_in_thread
from workflows.models import Credential, RunSubscription, Trigger
from workflows.tools.secret_finder import SecretFinder
from workflows.tools.signed_in.secrets import list_sign_in_secrets


# A shorter secret may be a word that texts have, such as the key of a model on one's own computer.
MIN_TEAM_SECRET: Final = 12


@dataclass(frozen=True, slots=True)
class _Finders:
    every: SecretFinder
    of_team: SecretFinder  # without those that the workflow has itself


class StoredSecrets:
    """Implements ``engine.ports.SecretPort`` for one attempt at a run, which reads the secrets when it first asks."""

    def __init__(self, team_id: UUID, workflow_id: UUID) -> None:
        self._load = partial(_build_finders, team_id, workflow_id)
        self._finders: _Finders | None = None

    async def is_in(self, value: Json) -> bool:
        """Return whether one of them is in the value. A long text is read in a thread, as other runs go on meanwhile."""
        return await asyncio.to_thread((await self._get_finders()).every.is_in, value)

    async def is_team_secret_in(self, value: Json) -> bool:
        return await asyncio.to_thread((await self._get_finders()).of_team.is_in, value)

    async def _get_finders(self) -> _Finders:
        if self._finders is None:
            self._finders = await run_in_thread(self._load)
        return self._finders


def _build_finders(team_id: UUID, workflow_id: UUID) -> _Finders:
    """Load the credentials, the tokens of sign-ins, and the addresses and secrets of webhooks, of the team, and the workflow's own secrets.

    Secret variables of other workflows are left out: their authors may have chosen a word that every text has.
    """
    with tenant([team_id]):
        of_team = [decrypt(bytes(sealed)) for sealed in _list_sealed(team_id) if sealed]
        own = load_secret_values(workflow_id)
    foreign = (
        secret
        for secret in of_team
        if len(secret.strip()) >= MIN_TEAM_SECRET
        and not any(secret.strip() in text for text in own)
    )
    return _Finders(SecretFinder([*of_team, *own]), SecretFinder(foreign))


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
