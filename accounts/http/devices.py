"""Known devices: browsers in which somebody has signed in. Failed sign-ins elsewhere don't delay them.

A signed cookie holds a random number and the hashes of the last people who signed in with this browser. It gives no
access by itself, and is only exempt from the delays of others: attempts with it have a count of their own.
"""

from __future__ import annotations

import secrets
from typing import Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.crypto import salted_hmac


SALT: Final = "accounts.known_device"
MAX_AGE: Final = 365 * 24 * 60 * 60
MAX_PEOPLE: Final = 5


def find_device(request: HttpRequest, email: str) -> str:
    """Return the number of this device if the person has signed in with it, otherwise an empty text."""
    device, people = _read(request)
    return device if _hash(email) in people else ""


def remember_device(request: HttpRequest, response: HttpResponseBase, email: str) -> None:
    """Let the browser prove later that this person has signed in with it."""
    device, people = _read(request)
    person = _hash(email)
    people = [person, *(other for other in people if other != person)][:MAX_PEOPLE]
    response.set_cookie(
        settings.DEVICE_COOKIE_NAME,
        signing.dumps([device or secrets.token_urlsafe(12), *people], salt=SALT),
        max_age=MAX_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _read(request: HttpRequest) -> tuple[str, list[str]]:
    """Return the number of the device and the hashes of its people; nothing for a missing or forged cookie."""
    cookie = request.COOKIES.get(settings.DEVICE_COOKIE_NAME, "")
    try:
        device, *people = signing.loads(cookie, salt=SALT, max_age=MAX_AGE)
    except (signing.BadSignature, ValueError):
        return "", []
    return device, people


def _hash(email: str) -> str:
    return salted_hmac(SALT, email, algorithm="sha256").hexdigest()[:24]
