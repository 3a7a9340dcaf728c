"""The tenant of a request: open around sync views, left to async ones, committed below 500 and undone above, but for refusals."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpResponse
from django.test import AsyncClient, Client, RequestFactory
from django.urls import path

from accounts import audit
from accounts.errors import NotAllowed
from accounts.models import AuditEntry, Membership
from accounts.principals import get_principal
from accounts.tenancy import get_current_team_ids, tenant
from config.urls import urlpatterns as site
from tests.support.cast import make_cast


def sees(request):
    count = Membership.objects.visible_to(get_principal(request)).count()
    return HttpResponse(f"{len(get_current_team_ids())} {count}")


async def streams(request):
    principal = get_principal(request)
    outside = len(await sync_to_async(get_current_team_ids)())

    def ask() -> int:
        with tenant(principal.team_ids):
            return Membership.objects.visible_to(principal).count()

    return HttpResponse(f"{outside} {await sync_to_async(ask)()}")


def records_and(then):
    def view(request):
        (team_id,) = get_principal(request).team_ids
        for action, success in (("access.refused", False), ("team.renamed", True)):
            audit.record(team_id=team_id, actor="x", action=action, subject="x", success=success)
        return then()

    return view


def _raise(error):
    raise error


urlpatterns = [
    path("sees", sees),
    path("streams", streams),
    path("fine", records_and(lambda: HttpResponse("ok"))),
    path("gone", records_and(lambda: _raise(Http404()))),
    path("answered", records_and(lambda: HttpResponse(status=500))),
    path("broken", records_and(lambda: _raise(ZeroDivisionError()))),
    path("stopped", records_and(lambda: _raise(NotAllowed()))),
    *site,  # the error page links into it
]

pytestmark = pytest.mark.urls(__name__)


@pytest.mark.django_db
def test_view_of_a_member_sees_their_team_and_no_other(cast):
    assert cast.vic.client.get("/sees").content == b"1 4"
    assert cast.carol.client.get("/sees").content == b"1 1"


@pytest.mark.django_db
def test_view_of_a_stranger_gets_no_principal(cast):
    assert Client().get("/sees").status_code == 302


def written(team):
    assert audit.verify(team.id).intact
    with tenant([team.id]):
        rows = AuditEntry.objects.unscoped().filter(team_id=team.id, actor="x")
        return list(rows.order_by("seq").values_list("action", flat=True))


REFUSED = ["access.refused"]  # which stays, whatever became of the rest
BOTH = [*REFUSED, "team.renamed"]


@pytest.mark.parametrize(
    ("address", "status", "kept"),
    [
        ("/fine", 200, BOTH),
        ("/gone", 404, BOTH),
        ("/stopped", 403, BOTH),
        ("/answered", 500, REFUSED),
        ("/broken", 500, REFUSED),
    ],
)
def test_view_that_ends_in_a_status_keeps_or_loses_what_it_wrote(
    transactional_db, address, status, kept
):
    cast = make_cast()
    client = cast.bob.client
    client.raise_request_exception = False

    answer = client.get(address)

    assert (answer.status_code, written(cast.team_a)) == (status, kept)


@pytest.mark.parametrize(
    ("address", "status", "kept"),
    [("/fine", 200, BOTH), ("/stopped", 403, BOTH), ("/broken", 500, REFUSED)],
)
def test_sync_view_under_asgi_keeps_or_loses_alike(transactional_db, address, status, kept):
    cast = make_cast()

    async def ask():
        client = AsyncClient(raise_request_exception=False)
        await client.aforce_login(
            cast.bob.user, backend="allauth.account.auth_backends.AuthenticationBackend"
        )
        return await client.get(address)

    answer = asyncio.run(ask())

    assert (answer.status_code, written(cast.team_a)) == (status, kept)


@pytest.mark.parametrize(("address", "body"), [("/sees", b"1 4"), ("/streams", b"0 4")])
def test_views_under_asgi_see_their_team(transactional_db, address, body):
    cast = make_cast()

    async def ask():
        client = AsyncClient()
        await client.aforce_login(
            cast.bob.user, backend="allauth.account.auth_backends.AuthenticationBackend"
        )
        return await client.get(address)

    assert asyncio.run(ask()).content == body


@pytest.mark.django_db
def test_nothing_is_open_after_the_request(cast):
    cast.bob.client.get("/sees")

    assert get_current_team_ids() == frozenset()


def test_request_without_a_person_has_no_principal():
    request = RequestFactory().get("/")
    request.user = AnonymousUser()

    with pytest.raises(Exception, match="Sign in first"):
        get_principal(request)
