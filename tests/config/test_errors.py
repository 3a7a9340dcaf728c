"""The table from domain error to HTTP, through the real API and the real middleware."""

import json
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts import errors as accounts
from config.errors import (
    STATUS,
    DomainErrorMiddleware,
    answer_server_error,
    build_body,
    find_status,
)
from memory.core import errors as memory
from tests.support.cast import Person
from tests.support.markup import markup_of
from workflows.engine import errors as workflows
from workflows.engine.editing import Conflict
from workflows.engine.editing.rebase import Author
from workflows.engine.language.problems import Problem
from workflows.errors import EditConflict


def families(root: type[Exception]) -> list[type[Exception]]:
    return [root, *(below for child in root.__subclasses__() for below in families(child))]


@pytest.mark.parametrize("root", [accounts.AccountsFault, memory.MemoryFault])
def test_status_every_fault_of_people_and_memory_is_told_from_its_familys_root(
    root: type[Exception],
):
    unforeseen = [
        family.__name__
        for family in families(root)[1:]
        if not any(kind in STATUS for kind in family.__mro__[: family.__mro__.index(root)])
    ]

    assert (root in STATUS, unforeseen) == (True, [])


def test_status_most_specific_row_wins():
    class Lost(memory.NotFound):
        """Lost."""

    assert [find_status(Lost()), find_status(memory.MemoryFault()), find_status(ValueError())] == [
        404,
        500,
        None,
    ]


def test_body_carries_every_problem_with_its_address():
    problem = Problem(code="E1", message="No end.", node="n1", field="text")

    body = build_body(workflows.DocumentInvalid([problem]))

    assert body["error"]["type"] == "DocumentInvalid"
    found = body["error"]["problems"]
    assert [(one["code"], one["message"], one["node"], one["field"]) for one in found] == [
        ("E1", "No end.", "n1", "text")
    ]


def test_body_carries_both_values_of_every_conflict():
    conflict = Conflict("title", "Ask", "Question", Author("Bob"), node="n1", op=2)

    body = build_body(EditConflict([conflict]))

    assert body["error"]["conflicts"] == [
        {
            "op": 2,
            "node": "n1",
            "edge": None,
            "field": "title",
            "yours": "Ask",
            "theirs": "Question",
            "by": "Bob",
        }
    ]


def page(*, htmx: bool = False) -> HttpRequest:
    request = RequestFactory().get("/somewhere/?page=2")
    request.htmx = htmx
    request.user = AnonymousUser()
    return request


def middleware() -> DomainErrorMiddleware:
    return DomainErrorMiddleware(lambda request: HttpResponse())


def test_page_for_strangers_leads_to_the_sign_in_page_and_back():
    response = middleware().process_exception(page(), accounts.NotSignedIn())

    assert response is not None
    assert (response.status_code, response["Location"]) == (
        302,
        "/accounts/login/?next=%2Fsomewhere%2F%3Fpage%3D2",
    )


def test_fragment_for_strangers_sends_the_whole_page_there():
    response = middleware().process_exception(page(htmx=True), accounts.NotSignedIn())

    assert response is not None
    assert response["HX-Redirect"].startswith("/accounts/login/")


@pytest.mark.django_db
@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_form_that_is_too_large_is_answered_with_a_page_that_says_so(
    alice: Person, headers: dict[str, str], settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000

    answer = alice.client.post("/data-sets/", {"name": "x" * 2_000}, headers=headers)

    assert answer.status_code == 413
    assert "The request&#x27;s body is too large." in answer.content.decode()
    assert ("<html" in answer.content.decode()) is not bool(headers)


def test_page_unexpected_error_is_left_to_be_loud():
    assert middleware().process_exception(page(), RuntimeError("bug")) is None
    assert middleware().process_exception(page(), memory.MemoryFault()) is None


def test_page_of_a_memory_provider_that_is_away_says_so_and_when_to_try_again():
    away = memory.ProviderAway("The memory provider redis can't be reached.")

    answer = middleware().process_exception(page(), away)

    assert answer is not None
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    text = answer.content.decode()
    assert "These memories can&#x27;t be reached at the moment." in text
    assert "redis" not in text


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
    ],
)
def test_api_write_that_any_page_could_send_is_refused(content_type: str, status: int):
    response = Client().generic("POST", "/api/v1/workflows", data="{}", content_type=content_type)

    assert (response.status_code, response.json()["error"]["type"]) == (
        status,
        "UnsupportedMediaType",
    )


@pytest.mark.django_db
def test_api_description_is_served():
    described = json.loads(Client().get("/api/v1/openapi.json").content)

    assert described["info"]["title"] == "Mnemoflow"


@pytest.mark.django_db
def test_address_that_takes_forms_alone_says_so_to_who_opens_it(alice: Person) -> None:
    opened = alice.client.get(reverse("memory:exchange_undo"), headers={"Accept": "text/html"})
    asked = alice.client.get(reverse("memory:exchange_undo"), headers={"Accept": "image/png"})
    over_the_api = alice.client.get("/api/v1/memory/recall", headers={"Accept": "text/html"})

    assert (opened.status_code, opened["Allow"]) == (405, "POST")
    assert "can't be opened as a page" in markup_of(opened)
    assert (asked.status_code, asked.content) == (405, b"")
    assert over_the_api["Content-Type"] == "application/json"


def answer_to_error(
    error: Exception, path: str, method: str = "GET", **headers: str
) -> HttpResponse:
    """As Django asks for the page of an error that nothing has handled."""
    try:
        raise error
    except Exception:
        request = RequestFactory().generic(method, path, headers=headers)
        answer = answer_server_error(request)
    assert isinstance(answer, HttpResponse)
    return answer


def test_outage_of_the_database_is_no_fault_of_the_server_and_may_be_tried_again():
    outage = OperationalError("the connection is lost")
    outage.__cause__ = psycopg.errors.AdminShutdown("terminating connection")

    page, api = answer_to_error(outage, "/memory/"), answer_to_error(outage, "/api/v1/runs")

    error = json.loads(api.content)["error"]
    assert (page.status_code, api.status_code) == (503, 503)
    assert (page["Retry-After"], api["Retry-After"]) == ("2", "2")
    assert (error["type"], error["retryable"]) == ("ServiceUnavailable", True)
    assert b'http-equiv="refresh"' in page.content
    # No text of the driver is shown.
    assert b"terminating" not in page.content + api.content


def test_form_that_an_outage_refused_is_not_reloaded_as_if_it_was_saved():
    page = answer_to_error(psycopg.errors.AdminShutdown(), "/runs/1/stop/", "POST").content

    assert b"was not saved" in page
    assert b'http-equiv="refresh"' not in page


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (psycopg.errors.AdminShutdown(), 503, "The database can't be reached at the moment."),
        (ValueError("broken"), 500, "Something went wrong on the server."),
    ],
)
def test_failed_fragment_leaves_the_page_as_it_is_and_says_why(
    error: Exception, status: int, text: str
):
    answer = answer_to_error(error, "/runs/", "POST", **{"HX-Request": "true"})

    assert (answer.status_code, answer["HX-Reswap"], answer.content) == (status, "none", b"")
    assert json.loads(answer["HX-Trigger"])["show-toast"].startswith(text)


def test_other_error_stays_a_fault_of_the_server():
    page = answer_to_error(ValueError("broken"), "/memory/")

    assert (page.status_code, "Retry-After" in page) == (500, False)
