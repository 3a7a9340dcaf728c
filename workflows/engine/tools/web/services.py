"""The services on the web that tools call, and the port through which a run gets the team's account with one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from workflows.engine.texts import gettext_noop


KeyRule = Literal["none", "optional", "required"]


@dataclass(frozen=True, slots=True)
class WebService:
    """A service. Without a ``base_url`` each team names its own server. A key is sent as ``key_header`` or ``key_param``."""

    name: str
    title: str
    base_url: str = ""
    key: KeyRule = "none"
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    key_param: str = ""  # of the query, instead of a header
    key_page: str = ""  # where people get a key
    help: str = ""

    @property
    def needs_account(self) -> bool:
        """Return whether the tools of the service fail for a team that hasn't connected it."""
        return self.key == "required" or not self.base_url

    def build_headers(self, secret: str) -> tuple[tuple[str, str], ...]:
        if not secret or self.key_param:
            return ()
        return ((self.key_header, f"{self.key_prefix}{secret}"),)

    def build_params(self, secret: str) -> tuple[tuple[str, str], ...]:
        return ((self.key_param, secret),) if secret and self.key_param else ()


SERVICES: Final[Mapping[str, WebService]] = {
    service.name: service
    for service in (
        WebService(
            "tavily", "Tavily", "https://api.tavily.com", "required",
            key_page="https://app.tavily.com/home",
        ),
        WebService(
            "google", "Google (SerpApi)", "https://serpapi.com", "required", key_param="api_key",
            key_page="https://serpapi.com/manage-api-key",
        ),
        WebService(
            "firecrawl", "Firecrawl", "https://api.firecrawl.dev", "required",
            key_page="https://www.firecrawl.dev/app/api-keys",
        ),
        WebService(
            "searxng", "SearXNG",
            help=gettext_noop("The URL of your own server. It must allow the format json."),
        ),
        WebService(
            "jina", "Jina Reader", "https://r.jina.ai", "optional",
            key_page="https://jina.ai/reader",
            help=gettext_noop("Works without a key, with fewer requests."),
        ),
        WebService("duckduckgo", "DuckDuckGo", "https://html.duckduckgo.com"),
        WebService("wikipedia", "Wikipedia", "https://{language}.wikipedia.org"),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Account:
    """A team's account with a service: the URL of its server if it has its own, and its key."""

    base_url: str = ""
    secret: str = ""


class AccountPort(Protocol):
    """The accounts of a run's team with services on the web."""

    async def find(self, service: str) -> Account | None:
        """Return the team's account, or None. Raises ``engine.errors.ToolFailed`` if the run may not use it."""
        ...
