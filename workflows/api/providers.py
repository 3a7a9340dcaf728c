"""Routes of ``/api/v1/providers`` and ``/api/v1/credentials``. API keys are refused, and no secret is returned."""

from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Router, Status

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from workflows import selectors
from workflows.models import Credential, ModelProvider
from workflows.schemas import workflows
from workflows.services import credentials


router = Router(auth=api_auth(), tags=["providers"])


@router.get("/providers", response=list[workflows.ProviderOut], summary="List model providers")
def list_providers(request: HttpRequest) -> QuerySet[ModelProvider]:
    """Return the current team's model providers, without their secrets."""
    return selectors.list_providers(get_principal(request), get_current_team_id(request))


@router.post("/providers", response={201: workflows.ProviderOut}, summary="Add a model provider")
def create_provider(request: HttpRequest, body: workflows.ProviderIn) -> Status[ModelProvider]:
    """Add a model provider to your current team. A ``secret`` is stored as a credential."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    return Status(201, credentials.create_provider(principal, team_id=team_id, **body.dict()))


@router.get("/providers/{uuid:provider_id}", response=workflows.ProviderOut, summary="Read")
def read_provider(request: HttpRequest, provider_id: UUID) -> ModelProvider:
    """Return a model provider, without its secret."""
    return selectors.find_provider(get_principal(request), provider_id)


@router.patch("/providers/{uuid:provider_id}", response=workflows.ProviderOut, summary="Change")
def update_provider(
    request: HttpRequest, provider_id: UUID, body: workflows.ProviderPatch
) -> ModelProvider:
    """Change a model provider; fields that are left out keep their value.

    A URL on another host drops the stored secret unless a new one is sent along.
    """
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id, change=True)
    return credentials.update_provider(principal, provider=provider, **body.dict())


@router.delete("/providers/{uuid:provider_id}", response={204: None}, summary="Delete")
def delete_provider(request: HttpRequest, provider_id: UUID) -> Status[None]:
    """Delete a model provider, and its credential unless another provider uses it."""
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id, change=True)
    credentials.delete_provider(principal, provider=provider)
    return Status(204, None)


@router.get("/credentials", response=list[workflows.CredentialOut], summary="List credentials")
def list_credentials(request: HttpRequest) -> QuerySet[Credential]:
    """Return the current team's credentials with names and hints, without their secrets."""
    return selectors.list_credentials(get_principal(request), get_current_team_id(request))


@router.post("/credentials", response={201: workflows.CredentialOut}, summary="Add a credential")
def create_credential(request: HttpRequest, body: workflows.CredentialIn) -> Status[Credential]:
    """Add a credential to your current team. ``hosts`` says where it may be sent: by default to ``base_url``'s host."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    return Status(201, credentials.create_credential(principal, team_id=team_id, **body.dict()))


@router.put(
    "/credentials/{uuid:credential_id}/secret",
    response=workflows.CredentialOut,
    summary="Replace a credential's secret",
)
def replace_secret(
    request: HttpRequest, credential_id: UUID, body: workflows.SecretIn
) -> Credential:
    """Replace a credential's secret."""
    principal = get_principal(request)
    credential = selectors.find_credential(principal, credential_id)
    return credentials.replace_secret(principal, credential=credential, secret=body.secret)


@router.delete("/credentials/{uuid:credential_id}", response={204: None}, summary="Delete")
def delete_credential(request: HttpRequest, credential_id: UUID) -> Status[None]:
    """Delete a credential."""
    principal = get_principal(request)
    credential = selectors.find_credential(principal, credential_id)
    credentials.delete_credential(principal, credential=credential)
    return Status(204, None)
