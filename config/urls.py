"""The URLs of the whole site."""

from django.conf import settings
from django.contrib import admin
from django.templatetags.static import static
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from accounts.views.language import choose as choose_language
from config.api import api
from config.http.health import healthz, metrics


handler404 = "config.errors.answer_not_found"

PAGES = ["accounts.urls", *(["memory.urls"] if settings.MEMORY_ENABLED else []), "workflows.urls"]

urlpatterns: list[URLPattern | URLResolver] = [
    path("favicon.ico", RedirectView.as_view(url=static("favicon.svg")), name="favicon"),
    path("healthz", healthz, name="healthz"),
    path("metrics", metrics, name="metrics"),
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
    path("i18n/setlang/", choose_language, name="set_language"),
    path("accounts/", include("allauth.urls")),
    *(path("", include(module)) for module in PAGES),
]
