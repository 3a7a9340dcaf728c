"""Routes of ``/api/v1/providers`` and ``/api/v1/credentials``. No secret is ever returned."""

from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Router, Status
from ninja.pagination import paginate

from accounts.http.auth import api_auth
from accounts.principals import get_current_team_id, get_principal
from config.http.pages import Pages
from workflows import selectors
from workflows.models import Credential, ModelMapping, ModelProvider, ProviderModel
from workflows.schemas import workflows
from workflows.services import credentials
from workflows.services.models import added_models, connecting, mappings
from workflows.services.models.model_trials import ModelTrial


router = Router(auth=api_auth(), tags=["providers"])


@router.get("/providers", response=list[workflows.ProviderOut], summary="List model providers")
@paginate(Pages)
def list_providers(request: HttpRequest) -> QuerySet[ModelProvider]:
    """Return the current team's model providers, without their secrets."""
    return selectors.list_providers(get_principal(request), get_current_team_id(request))


@router.post("/providers", response={201: workflows.ProviderOut}, summary="Add a model provider")
def create_provider(request: HttpRequest, body: workflows.ProviderIn) -> Status[ModelProvider]:
    """Add a model provider to your current team. A ``secret`` is stored as a credential."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    return Status(201, credentials.create_provider(principal, team_id=team_id, **body.dict()))


@router.get(
    "/providers/{uuid:provider_id}", response=workflows.ProviderOut, summary="Get a model provider"
)
def read_provider(request: HttpRequest, provider_id: UUID) -> ModelProvider:
    """Return a model provider, without its secret."""
    return selectors.find_provider(get_principal(request), provider_id)


@router.patch(
    "/providers/{uuid:provider_id}",
    response=workflows.ProviderOut,
    summary="Change a model provider",
)
def update_provider(
    request: HttpRequest, provider_id: UUID, body: workflows.ProviderPatch
) -> ModelProvider:
    """Change a model provider; fields that are left out keep their value.

    A URL on another host drops the stored secret unless a new one is sent along.
    """
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id, change=True)
    return credentials.update_provider(principal, provider=provider, **body.dict())


@router.delete(
    "/providers/{uuid:provider_id}", response={204: None}, summary="Delete a model provider"
)
def delete_provider(request: HttpRequest, provider_id: UUID) -> Status[None]:
    """Delete a model provider, and its credential unless another provider uses it."""
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id, change=True)
    credentials.delete_provider(principal, provider=provider)
    return Status(204, None)


@router.post(
    "/providers/{uuid:provider_id}/test", response=workflows.TestOut, summary="Test a provider"
)
def test_provider(request: HttpRequest, provider_id: UUID) -> connecting.TestResult:
    """Test a model provider by listing its models; nothing else is sent. The result is stored."""
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id, change=True)
    return connecting.test_provider(principal, provider=provider)


@router.get("/models/default", response=workflows.DefaultModel, summary="Read the default model")
def read_default_model(request: HttpRequest) -> dict[str, str]:
    """Return the model that new nodes and samples of your current team use."""
    return mappings.read_default_model(get_principal(request), get_current_team_id(request))


@router.put("/models/default", response=workflows.DefaultModel, summary="Set the default model")
def set_default_model(request: HttpRequest, body: workflows.DefaultModel) -> dict[str, str]:
    """Set the model that new nodes and samples use, or remove it with an empty ``provider``."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    provider = None
    if body.provider:
        provider = selectors.find_provider_by_name(principal, team_id, body.provider)
    mappings.set_default(principal, team_id=team_id, provider=provider, model=body.model)
    return mappings.read_default_model(principal, team_id)


@router.get("/models/fallback", response=workflows.FallbackModel, summary="Read the fallback model")
def read_fallback_model(request: HttpRequest) -> dict[str, str]:
    """Return the model of your current team that is asked if another one can't be reached or refuses."""
    return mappings.read_fallback_model(get_principal(request), get_current_team_id(request))


@router.put("/models/fallback", response=workflows.FallbackModel, summary="Set the fallback model")
def set_fallback_model(request: HttpRequest, body: workflows.FallbackModel) -> dict[str, str]:
    """Set the model that is asked if another one can't be reached or refuses, or remove it with an empty ``provider``."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    provider = None
    if body.provider:
        provider = selectors.find_provider_by_name(principal, team_id, body.provider)
    mappings.set_fallback(principal, team_id=team_id, provider=provider, model=body.model)
    return mappings.read_fallback_model(principal, team_id)


@router.get("/models/mappings", response=list[workflows.MappingOut], summary="List mappings")
@paginate(Pages)
def list_mappings(request: HttpRequest) -> QuerySet[ModelMapping]:
    """Return the models of your current team that answer for others."""
    return mappings.list_mappings(get_principal(request), get_current_team_id(request))


@router.put("/models/mappings", response=workflows.MappingOut, summary="Map a model")
def set_mapping(request: HttpRequest, body: workflows.MappingIn) -> ModelMapping:
    """Let a model of your current team answer for one that documents name."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    target = selectors.find_provider_by_name(principal, team_id, body.target)
    return mappings.set_mapping(
        principal,
        name=body.provider,
        model=body.model,
        target=target,
        target_model=body.target_model,
    )


@router.delete("/models/mappings", response={204: None}, summary="Delete a mapping")
def delete_mapping(request: HttpRequest, body: workflows.MappingKey) -> Status[None]:
    """Delete a mapping; documents that name its model get the team's default again."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    mappings.delete_mapping(principal, team_id=team_id, name=body.provider, model=body.model)
    return Status(204, None)


@router.get("/credentials", response=list[workflows.CredentialOut], summary="List credentials")
@paginate(Pages)
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
def replace_credential_secret(
    request: HttpRequest, credential_id: UUID, body: workflows.SecretIn
) -> Credential:
    """Replace a credential's secret."""
    principal = get_principal(request)
    credential = selectors.find_credential(principal, credential_id)
    return credentials.replace_secret(principal, credential=credential, secret=body.secret)


@router.delete(
    "/credentials/{uuid:credential_id}", response={204: None}, summary="Delete a credential"
)
def delete_credential(request: HttpRequest, credential_id: UUID) -> Status[None]:
    """Delete a credential."""
    principal = get_principal(request)
    credential = selectors.find_credential(principal, credential_id)
    credentials.delete_credential(principal, credential=credential)
    return Status(204, None)


@router.get(
    "/providers/{uuid:provider_id}/models",
    response=list[workflows.AddedModelOut],
    summary="List embedding and reranking models",
)
@paginate(Pages)
def list_added_models(request: HttpRequest, provider_id: UUID) -> QuerySet[ProviderModel]:
    """Return the embedding and reranking models that your current team has added to a provider."""
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id)
    return added_models.list_models(principal, provider.team_id, [provider])


@router.post(
    "/providers/{uuid:provider_id}/models",
    response=workflows.AddedModelResultOut,
    summary="Add an embedding or reranking model",
)
def add_model(
    request: HttpRequest, provider_id: UUID, body: workflows.AddedModelIn
) -> dict[str, object]:
    """Test a model with a few sentences, and add it if it answers.

    As the team's default embedding model it is sent every text that the team remembers, and every question.
    """
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id, change=True)
    model, trial = added_models.add_model(
        principal,
        provider=provider,
        model_type=body.type,
        name=body.name,
        options=added_models.ModelOptions(body.dimensions, body.question_prefix, body.text_prefix),
        is_default=body.is_default,
        saves_failing=body.saves_failing,
    )
    return {"model": model, "test": trial}


@router.post(
    "/providers/{uuid:provider_id}/models/{uuid:model_id}/test",
    response=workflows.AddedModelTestOut,
    summary="Test an embedding or reranking model",
)
def test_added_model(request: HttpRequest, provider_id: UUID, model_id: UUID) -> ModelTrial:
    """Call the model with a few sentences, which are none of the team's, and store the result."""
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id, change=True)
    model = added_models.find_model(principal, provider, model_id, change=True)
    return added_models.test_model(principal, model=model)


@router.delete(
    "/providers/{uuid:provider_id}/models/{uuid:model_id}",
    response={204: None},
    summary="Remove an embedding or reranking model",
)
def delete_added_model(request: HttpRequest, provider_id: UUID, model_id: UUID) -> Status[None]:
    """Remove a model. If memory used it, memories are embedded again by this installation's model."""
    principal = get_principal(request)
    provider = selectors.find_provider(principal, provider_id, change=True)
    model = added_models.find_model(principal, provider, model_id, change=True)
    added_models.delete_model(principal, model=model)
    return Status(204, None)


@router.get(
    "/models/default/{model_type}",
    response=workflows.DefaultAddedModel,
    summary="Read the default embedding or reranking model",
)
def read_default_added_model(
    request: HttpRequest, model_type: workflows.AddedType
) -> dict[str, str]:
    """Return the model that embeds your current team's memories, or that ranks where no other is connected."""
    principal, team_id = get_principal(request), get_current_team_id(request)
    return added_models.read_default(principal, team_id, model_type)


@router.put(
    "/models/default/{model_type}",
    response=workflows.DefaultAddedModel,
    summary="Set the default embedding or reranking model",
)
def set_default_added_model(
    request: HttpRequest, model_type: workflows.AddedType, body: workflows.DefaultAddedModel
) -> dict[str, str]:
    """Set the team's default model of a type, or remove it with an empty ``provider``.

    With another embedding model, memories are embedded again in the background; until then words find them.
    """
    principal, team_id = get_principal(request), get_current_team_id(request)
    model = None
    if body.provider:
        model = added_models.find_model_by_name(
            principal, team_id, model_type, body.provider, body.model
        )
    added_models.set_default_model(principal, team_id=team_id, model_type=model_type, model=model)
    return added_models.read_default(principal, team_id, model_type)
