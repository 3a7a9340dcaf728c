"""Routes of Dify's service API that are not carried out here. Each says so in the words of that API."""

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest
from ninja import Router

from accounts.http.auth import KeyAuth
from workflows.dify_api.apps import open_app
from workflows.dify_api.errors import DifyError


router = Router(auth=[KeyAuth()])

# The first part of a path → status, code and message.
REFUSALS: Final[Mapping[str, tuple[int, str, str]]] = {
    "apps": (404, "not_found", "Annotations are not available here."),
    "audio-to-text": (400, "invalid_param", "Speech to text is not enabled."),
    "text-to-audio": (400, "invalid_param", "Text to speech is not enabled."),
    "datasets": (404, "not_found", "Datasets are knowledge bases here: see /api/v1/knowledge."),
    "workspaces": (404, "not_found", "The models of a workspace are not listed here."),
}


@router.api_operation(["GET", "POST"], "/apps/annotations")
@router.api_operation(["POST"], "/audio-to-text")
@router.api_operation(["POST"], "/text-to-audio")
@router.api_operation(["GET", "POST"], "/datasets")
def refuse(request: HttpRequest) -> None:
    open_app(request)
    raise DifyError(*REFUSALS[request.path_info.split("/")[2]])


@router.api_operation(["PUT", "DELETE"], "/apps/annotations/{path:rest}")
@router.api_operation(["GET", "POST"], "/apps/annotation-reply/{path:rest}")
@router.api_operation(["GET", "POST", "PATCH", "DELETE"], "/datasets/{path:rest}")
@router.api_operation(["GET"], "/workspaces/current/models/model-types/{path:rest}")
def refuse_below(request: HttpRequest, rest: str) -> None:
    refuse(request)
