"""Routes that describe an app: its form and features, its name, its look, and its end users."""

from django.http import HttpRequest
from ninja import Router

from accounts.http.auth import KeyAuth
from workflows.dify_api.apps import App, open_app
from workflows.dify_api.parameters import build_parameters
from workflows.dify_api.people import find_end_user
from workflows.engine.language.document import Json


router = Router(auth=[KeyAuth()])
API_VERSION = "v1"
# The version of Dify whose documented API this one follows.
SERVER_VERSION = "1.12.1"
LANGUAGE = "en-US"
ICON_BACKGROUND = "#FFEAD5"


@router.get("/", auth=None, summary="Welcome")
def welcome(request: HttpRequest) -> dict[str, str]:
    return {
        "welcome": "Dify OpenAPI",
        "api_version": API_VERSION,
        "server_version": SERVER_VERSION,
    }


@router.get("/parameters", summary="Get the form and the features")
def read_parameters(request: HttpRequest) -> dict[str, Json]:
    return build_parameters(open_app(request))


@router.get("/info", summary="Get the name and the mode")
def read_info(request: HttpRequest) -> dict[str, Json]:
    app = open_app(request)
    return {
        "name": app.workflow.name,
        "description": app.workflow.description,
        "tags": [],
        "mode": app.mode,
        "author_name": _get_author(app),
    }


@router.get("/meta", summary="Get the icons of tools")
def read_meta(request: HttpRequest) -> dict[str, Json]:
    open_app(request)
    return {"tool_icons": {}}


@router.get("/site", summary="Get the look of the app")
def read_site(request: HttpRequest) -> dict[str, Json]:
    app = open_app(request)
    return {
        "title": app.workflow.name,
        "chat_color_theme": None,
        "chat_color_theme_inverted": False,
        "icon_type": "emoji",
        "icon": app.workflow.icon or "🤖",
        "icon_background": ICON_BACKGROUND,
        "icon_url": None,
        "description": app.workflow.description,
        "copyright": None,
        "privacy_policy": None,
        "input_placeholder": None,
        "custom_disclaimer": None,
        "default_language": LANGUAGE,
        "prompt_public": False,
        "show_workflow_steps": True,
        "use_icon_as_answer_icon": False,
    }


@router.get("/end-users/{end_user_id}", summary="Get an end user")
def read_end_user(request: HttpRequest, end_user_id: str) -> dict[str, Json]:
    return find_end_user(open_app(request), end_user_id)


def _get_author(app: App) -> str:
    """Return the team's name: who of the team made the workflow is not told to programs."""
    return str(app.workflow.team.name)
