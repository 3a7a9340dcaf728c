"""Opens a public page for a request: finds the page by its link, the visitor, and the principal that acts for them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, Final, ParamSpec

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import NotFound
from accounts.principals import Principal, get_principal
from accounts.request_transaction import pausable_tenant
from accounts.tenancy import tenant
from config.http.middleware import VISITOR_HEADER
from config.http.proxies import find_network
from workflows import selectors
from workflows.engine.language.document import Document
from workflows.models import PageAccess, PublicPage, Workflow
from workflows.models.documents import read_document
from workflows.services.public_pages import limits
from workflows.services.public_pages.visitors import (
    Visitor,
    build_principal,
    create_visitor,
    find_open_page,
    has_access,
    read_ticket,
    sign_ticket,
)


COOKIE_SECONDS: Final = 365 * 24 * 3600
_COOKIE_PATH: Final = "/p/"

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, "Visit", P], HttpResponseBase]
Route = Callable[Concatenate[HttpRequest, str, P], HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Visit:
    """A request to a public page. ``is_embedded``: it comes from the bubble on another site."""

    page: PublicPage
    workflow: Workflow
    principal: Principal
    visitor: Visitor
    is_embedded: bool

    @property
    def is_locked(self) -> bool:
        """Return whether the visitor has yet to enter the password of the page."""
        return not has_access(self.page, self.visitor)

    @property
    def is_member(self) -> bool:
        """Return whether a member of the team opened a page for members, as themselves."""
        return self.page.access == PageAccess.MEMBERS

    @property
    def document(self) -> Document:
        version = self.workflow.published_version
        if version is None:
            raise NotFound
        return read_document(version.snapshot)


def show_to_visitor(view: View[P]) -> Route[P]:
    """Return the route of a view that shows something of an open page to its visitor."""
    return require_safe(_open_page(view, is_write=False, opens_locked=False))


def show_to_anybody(view: View[P]) -> Route[P]:
    """Return the route of a view that also shows something to those who have yet to enter the password."""
    return require_safe(_open_page(view, is_write=False, opens_locked=True))


def change_as_visitor(view: View[P]) -> Route[P]:
    """Return the route of a view that changes something for the visitor of an open page."""
    return require_POST(_open_page(view, is_write=True, opens_locked=False))


def change_as_anybody(view: View[P]) -> Route[P]:
    """Return the route of a view that also takes something from those who have yet to enter the password."""
    return require_POST(_open_page(view, is_write=True, opens_locked=True))


def open_visit(request: HttpRequest, token: str) -> Visit:
    """Return the visit of an open page. Raise NotFound for any other link, and NotSignedIn where members only may open it."""
    page = find_open_page(token)
    ticket = request.headers.get(VISITOR_HEADER)
    visitor = read_ticket(page, request.COOKIES.get(make_cookie_name(page), "") or ticket or "")
    return build_visit(request, page, visitor or create_visitor())


def build_visit(request: HttpRequest, page: PublicPage, visitor: Visitor) -> Visit:
    """Return the visit of this visitor. A member opens a page for members as themselves."""
    is_for_members = page.access == PageAccess.MEMBERS
    principal = get_principal(request) if is_for_members else build_principal(page, visitor)
    with tenant([page.team_id]):
        workflow = selectors.find_workflow(principal, page.workflow_id, "run")
    if workflow.is_archived or workflow.published_version is None:
        raise NotFound
    return Visit(page, workflow, principal, visitor, VISITOR_HEADER in request.headers)


def get_network(request: HttpRequest) -> str:
    return find_network(request.META.get("REMOTE_ADDR", ""))


def make_cookie_name(page: PublicPage) -> str:
    prefix = "__Secure-" if settings.SESSION_COOKIE_SECURE else ""
    return f"{prefix}visitor_{page.pk.hex}"


def set_ticket(response: HttpResponseBase, page: PublicPage, visitor: Visitor) -> None:
    """Let the browser remember the visitor, for this page only."""
    response.set_cookie(
        make_cookie_name(page),
        sign_ticket(page, visitor),
        max_age=COOKIE_SECONDS,
        path=_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _open_page(view: View[P], *, is_write: bool, opens_locked: bool) -> Route[P]:
    @wraps(view)
    def route(
        request: HttpRequest, token: str, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        visit = open_visit(request, token)
        _check_limits(request, visit, is_write)
        if visit.is_locked and not opens_locked:
            raise NotFound
        with pausable_tenant([visit.page.team_id]):
            response = view(request, visit, *args, **kwargs)
        _finish(request, visit, response)
        return response

    return route  # type: ignore[return-value]  # wraps() tells mypy less than the types above


def _check_limits(request: HttpRequest, visit: Visit, is_write: bool) -> None:
    network = get_network(request)
    if is_write:
        with tenant([visit.page.team_id]):
            limits.check_write(visit.page, network, visit.visitor.id)
    else:
        limits.check_read(visit.page, network)


def _finish(request: HttpRequest, visit: Visit, response: HttpResponseBase) -> None:
    """Send the cookie of a new visitor, and let nothing of the page be stored or found by search engines."""
    name = make_cookie_name(visit.page)
    is_known = name in request.COOKIES and read_ticket(visit.page, request.COOKIES[name])
    if not visit.is_embedded and not is_known and name not in response.cookies:
        set_ticket(response, visit.page, visit.visitor)
    add_never_cache_headers(response)
    response["X-Robots-Tag"] = "noindex"
    response["Referrer-Policy"] = "same-origin"  # the link alone may be the permission
