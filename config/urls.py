"""The URLs of the whole site."""

from django.conf import settings
from django.contrib import admin
from django.templatetags.static import static
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from accounts.views.language import choose as choose_language
from accounts.views.sign_in import SignInView
from config.api import api
from config.http.health import metrics
from config.other_apis.dify import dify_api
from config.other_apis.hooks import api as hooks_api
from config.other_apis.mcp import api as mcp_api
from config.other_apis.openai import api as openai_api
from config.other_apis.openai import build_aliases


handler404 = "config.errors.answer_not_found"
handler500 = "config.errors.answer_server_error"

PAGES = ["accounts.urls", *(["memory.urls"] if settings.MEMORY_ENABLED else []), "workflows.urls"]

urlpatterns: list[URLPattern | URLResolver] = [
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg")), name="favicon"),
    path("metrics", metrics, name="metrics"),
    path("api/v1/", api.urls),
    path("hooks/", hooks_api.urls),
    path("mcp/", mcp_api.urls),
    path("openai/v1/", openai_api.urls),
    path("v1/", include(build_aliases())),
    path("v1/", dify_api.urls),
    # Otherwise the admin's own form would check passwords without delays.
    path("admin/login/", RedirectView.as_view(pattern_name="account_login", query_string=True)),
    path("admin/", admin.site.urls),
    path("i18n/setlang/", choose_language, name="set_language"),
    path("accounts/login/", SignInView.as_view(), name="account_login"),
    path("accounts/", include("allauth.urls")),
    *(path("", include(module)) for module in PAGES),
]
