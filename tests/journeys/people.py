"""People of a journey: each owns a team of their own, as the first start makes it, so that no test meets another's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.crypto import get_random_string
from playwright.sync_api import BrowserContext

from tests.journeys.shell import Shell


# Signed in as a page would do it. Her team is named by chance, because a team's address must be nobody else's.
MAKE_OWNER = """
import secrets
from django.test import Client
from accounts.models import User
from accounts.services import create_team
from accounts.services.firstrun import DEMO_NAME, DEMO_TEAM
mark = secrets.token_hex(8)
user = User.objects.create_user(f"owner-{mark}@example.org", name=DEMO_NAME)
team = create_team(owner=user, name=f"{DEMO_TEAM} {mark}")
client = Client()
client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
made = {
    "id": str(user.pk),
    "team": str(team.pk),
    "cookies": {name: cookie.value for name, cookie in client.cookies.items()},
}
"""


@dataclass(frozen=True)
class Owner:
    id: str
    team: str
    cookies: Mapping[str, str]

    def sign_in(self, context: BrowserContext, address: str) -> None:
        sign_in(context, address, self.cookies)


def make_owner(shell: Shell) -> Owner:
    return Owner(**shell.run(MAKE_OWNER))


def sign_in(context: BrowserContext, address: str, cookies: Mapping[str, Any]) -> None:
    """By the cookies of a session, and the token that any page would bring, so that forms can be sent before one was seen."""
    token = {settings.CSRF_COOKIE_NAME: get_random_string(32)}
    context.add_cookies(
        [
            {"name": name, "value": value, "url": address}
            for name, value in {**token, **cookies}.items()
        ]
    )


def token_of(context: BrowserContext) -> str:
    """What a request that changes something must say besides the session."""
    [token] = [c["value"] for c in context.cookies() if c["name"] == settings.CSRF_COOKIE_NAME]
    return str(token)
