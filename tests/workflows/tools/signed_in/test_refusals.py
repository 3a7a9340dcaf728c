"""Sign-ins that are refused: answers of the wrong server, states that were used, other people and other sessions."""

import pytest
from django.utils import timezone

from accounts.errors import NotAllowed, NotFound
from accounts.tenancy import tenant
from tests.workflows.tools.signed_in.conftest import (
    begin,
    come_back,
    count_attempts,
    refuse,
    reload,
    sign_in,
)
from workflows.errors import InvalidValue
from workflows.models import SignInAttempt, SignInStatus
from workflows.services import tools
from workflows.tools.signed_in.attempts import delete_expired_attempts


pytestmark = pytest.mark.django_db

TOKEN_REQUEST = "POST /token"


def test_state_is_taken_once(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))
    come_back(cast.ada, parameters)

    with pytest.raises(NotFound):
        come_back(cast.ada, parameters)
    assert server.requests.count(TOKEN_REQUEST) == 1


def test_state_of_another_session_is_not_found(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))

    with pytest.raises(NotFound):
        come_back(cast.ada, parameters, session_key="another session")
    come_back(cast.ada, parameters)


@pytest.mark.parametrize("name", ["alice", "bob", "vic", "carol"])
def test_state_of_another_person_is_not_found(cast, connection, server, name):
    parameters = server.sign_in(begin(cast.ada, connection))

    with pytest.raises(NotFound):
        come_back(cast.people[name], parameters)
    assert TOKEN_REQUEST not in server.requests
    assert reload(connection).sign_in.status == SignInStatus.NEEDED


@pytest.mark.parametrize("name", ["bob", "vic"])
def test_only_admins_sign_in_and_out(cast, signed_in, name):
    person = cast.people[name]

    with pytest.raises(NotAllowed):
        begin(person, signed_in)
    with pytest.raises(NotAllowed):
        tools.sign_out(person.principal, connection=signed_in)
    assert reload(signed_in).sign_in.status == SignInStatus.SIGNED_IN


def test_person_begins_anew_and_the_earlier_address_is_worthless(cast, connection, server):
    first = server.sign_in(begin(cast.ada, connection))
    second = server.sign_in(begin(cast.ada, connection))

    assert count_attempts(connection) == 1
    with pytest.raises(NotFound):
        come_back(cast.ada, first)
    come_back(cast.ada, second)


@pytest.mark.parametrize("issuer", ["https://evil.example", ""])
def test_answer_of_another_issuer_is_refused(cast, connection, server, issuer):
    parameters = {**server.sign_in(begin(cast.ada, connection)), "iss": issuer}

    with pytest.raises(InvalidValue, match="server that was asked"):
        come_back(cast.ada, parameters)
    assert TOKEN_REQUEST not in server.requests


def test_answer_without_issuer_is_refused_where_the_server_promised_one(cast, connection, server):
    server.metadata["authorization_response_iss_parameter_supported"] = True
    parameters = server.sign_in(begin(cast.ada, connection))
    without_issuer = {name: value for name, value in parameters.items() if name != "iss"}

    with pytest.raises(InvalidValue, match="server that was asked"):
        come_back(cast.ada, without_issuer)
    assert TOKEN_REQUEST not in server.requests


def test_error_of_the_server_is_told_without_invisible_characters(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))
    answer = {"state": parameters["state"], "error": "server_error"}

    with pytest.raises(InvalidValue) as error:
        come_back(cast.ada, {**answer, "error_description": "Come\u202e back\u200b later"})

    assert str(error.value) == "The server didn't sign you in: Come back later"


def test_person_who_takes_too_long_starts_again(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))
    with tenant([connection.team_id]):
        SignInAttempt.objects.unscoped().update(expires_at=timezone.now())

    with pytest.raises(InvalidValue, match="took too long"):
        come_back(cast.ada, parameters)
    assert TOKEN_REQUEST not in server.requests


def test_attempts_that_nobody_finishes_are_deleted(cast, connection):
    begin(cast.ada, connection)
    assert delete_expired_attempts() == 0
    with tenant([connection.team_id]):
        SignInAttempt.objects.unscoped().update(expires_at=timezone.now())

    assert delete_expired_attempts() == 1
    assert count_attempts(connection) == 0


def test_code_of_another_sign_in_is_worthless(cast, connection, server):
    parameters = server.sign_in(begin(cast.ada, connection))
    other_code = server.sign_in(begin(cast.alice, connection))["code"]

    with pytest.raises(InvalidValue, match="invalid_grant"):
        come_back(cast.ada, {**parameters, "code": other_code})
    assert reload(connection).sign_in.status == SignInStatus.NEEDED


@pytest.mark.parametrize("status", [400, 500])
def test_refused_code_stores_nothing(cast, connection, server, status):
    parameters = server.sign_in(begin(cast.ada, connection))
    server.on_request["/token"] = refuse(status)

    with pytest.raises(InvalidValue, match=f"status {status}"):
        come_back(cast.ada, parameters)
    assert reload(connection).sign_in.status == SignInStatus.NEEDED


def test_tokens_are_deleted_even_if_they_may_not_be_revoked(cast, connection, server):
    server.metadata["revocation_endpoint"] = "http://169.254.169.254/latest/meta-data"
    sign_in(cast.ada, connection, server)

    assert not tools.sign_out(cast.ada.principal, connection=reload(connection))
    assert reload(connection).sign_in.access_token is None


def test_session_is_needed_to_sign_in(cast, connection):
    with pytest.raises(NotAllowed):
        begin(cast.ada, connection, session_key="")
