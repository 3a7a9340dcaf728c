"""The page to sign in: allauth's, which answers 429 with ``Retry-After`` while an attempt is delayed."""

from __future__ import annotations

from typing import Any

from allauth.account.views import LoginView
from django.http import HttpResponse

from accounts.selectors import has_owner


class SignInView(LoginView):  # type: ignore[misc]  # allauth ships no types
    def form_invalid(self, form: Any) -> HttpResponse:  # Any: an allauth form
        response: HttpResponse = super().form_invalid(form)
        if (seconds := _find_delay(form)) is not None:
            response.status_code = 429
            response["Retry-After"] = str(seconds)
            # The service has logged it; a line of Django's for each attempt would fill the log.
            response._has_been_logged = True  # type: ignore[attr-defined]  # read by log_response
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        return context | {"has_owner": has_owner(), "wait_seconds": _find_delay(context["form"])}


def _find_delay(form: Any) -> int | None:  # Any: an allauth form
    """Return the seconds until the next attempt is possible, or None if this one was not delayed."""
    for error in form.non_field_errors().as_data() if form.is_bound else ():
        if error.code == "sign_in_delayed":
            return int(error.params["seconds"])
    return None
