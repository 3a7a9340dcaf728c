"""A person signs in to the MCP server of a connection, whose tools then work for the team."""

import hashlib
from base64 import urlsafe_b64encode

import pytest
from asgiref.sync import async_to_sync
from mcp.shared.auth import OAuthClientInformationFull

from accounts.models import AuditEntry
from accounts.tenancy import tenant
from config.encryption.crypto import decrypt
from tests.factories.workflows import make_workflow
from tests.fakes.mcp_sign_in import SCOPE, serve_sign_in
from tests.workflows.tools.signed_in.conftest import (
    HERE,
    begin,
    call,
    change_sign_in,
    come_back,
    connect,
    count_attempts,
    read_sealed,
    read_tokens,
    refuse,
    reload,
    sign_in,
)
from workflows.engine.errors import ToolFailed
from workflows.engine.nodes.agent.tool_use.tool_references import NamedTool
from workflows.engine.tool_calls import ToolReference
from workflows.errors import InvalidValue
from workflows.execution.ports.stored_secrets import StoredSecrets
from workflows.models import SignInStatus
from workflows.services import credentials, tools
from workflows.services.tools.tool_problems import load_fault_finder
from workflows.tools.signed_in.renewal import read_grant


pytestmark = pytest.mark.django_db


def list_actions(team):
    with tenant([team.pk]):
        rows = AuditEntry.objects.unscoped().filter(action__startswith="tool.")
        return list(rows.order_by("seq").values_list("action", "detail"))


def test_server_that_wants_a_sign_in_is_connected_without_tools(cast, connection):
    assert (connection.operations, connection.sign_in.status) == ([], SignInStatus.NEEDED)
    with pytest.raises(InvalidValue, match="needs a new sign-in"):
        tools.refresh_connection(cast.ada.principal, connection=connection)


def test_person_signs_in_and_the_tools_are_listed_with_approval(cast, connection, server):
    sign_in(cast.ada, connection, server)

    row = reload(connection)
    names = [operation["name"] for operation in row.operations]
    assert row.sign_in.status == SignInStatus.SIGNED_IN
    assert "add" in names
    assert row.enabled_operations == row.approval_operations == names
    assert row.sign_in.signed_in_by_id == cast.ada.user.pk
    assert count_attempts(connection) == 0


def test_request_to_sign_in_has_pkce_the_resource_and_the_permissions(cast, connection, server):
    address = begin(cast.ada, connection)
    with tenant([connection.team_id]):
        verifier = decrypt(bytes(connection.sign_in_attempts.get().code_verifier))
    come_back(cast.ada, server.sign_in(address))

    (asked,) = server.asked
    challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    assert (asked["code_challenge_method"], asked["code_challenge"]) == ("S256", challenge)
    assert (asked["resource"], asked["scope"]) == (server.url, SCOPE)
    assert asked["redirect_uri"] == HERE.redirect_uri
    assert [token.resource for token in server.tokens] == [server.url]


def test_call_is_made_with_the_token_which_nobody_sees(cast, signed_in, server):
    result = call(signed_in, a=1, b=2)

    (token,) = server.tokens
    row = reload(signed_in).sign_in
    assert result.text == "3"
    assert token.token.encode() not in b"".join(read_sealed(signed_in))
    assert read_tokens(signed_in)[0] == token.token
    assert token.token not in repr(read_grant(row))


def test_sign_in_and_sign_out_are_audited_without_tokens(cast, signed_in, server):
    (token,) = server.tokens
    tools.sign_out(cast.ada.principal, connection=signed_in)

    actions = list_actions(cast.team_a)
    assert ("tool.signed_in", {"server": server.origin.removeprefix("http://")}) in actions
    assert actions[-1] == ("tool.signed_out", {})
    assert token.token not in str(actions)


def test_client_is_registered_once(cast, signed_in, server):
    sign_in(cast.ada, signed_in, server)

    assert server.requests.count("POST /register") == 1
    (client,) = server.clients.values()
    assert [str(uri) for uri in client.redirect_uris] == [HERE.redirect_uri]
    assert client.client_secret not in str(reload(signed_in).sign_in.client)


def test_own_document_is_the_client_where_the_server_reads_such(cast, connection, server):
    server.metadata["client_id_metadata_document_supported"] = True
    server.clients[HERE.metadata_url] = OAuthClientInformationFull(
        client_id=HERE.metadata_url,
        redirect_uris=[HERE.redirect_uri],
        token_endpoint_auth_method="none",
        scope=SCOPE,
    )

    sign_in(cast.ada, connection, server)

    assert server.asked[0]["client_id"] == HERE.metadata_url
    assert "POST /register" not in server.requests
    assert call(connection, a=2, b=2).text == "4"


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_client_is_typed_where_the_server_registers_none(cast, loopback, method):
    metadata = {"token_endpoint_auth_methods_supported": [method]}
    with serve_sign_in(registers=False, metadata=metadata) as server:
        server.clients["typed"] = OAuthClientInformationFull(
            client_id="typed",
            client_secret="typed secret",
            redirect_uris=[HERE.redirect_uri],
            token_endpoint_auth_method=method,
            scope=SCOPE,
        )
        connection = connect(cast, server)
        with pytest.raises(InvalidValue) as error:
            begin(cast.ada, connection)
        address = begin(cast.ada, connection, client_id="typed", client_secret="typed secret")
        come_back(cast.ada, server.sign_in(address))
        sign_in(cast.ada, reload(connection), server)  # nobody types it again

        assert error.value.field == "client_id"
        assert call(connection, a=2, b=3).text == "5"


def test_refused_registration_asks_for_a_client(cast, connection, server):
    server.on_request["/register"] = refuse(403, "not here")

    with pytest.raises(InvalidValue, match="status 403") as error:
        begin(cast.ada, connection)

    assert error.value.field == "client_id"


def test_key_is_given_up_for_the_sign_in(cast, connection, server):
    tools.replace_secret(cast.ada.principal, connection=connection, secret="a typed key 0123456789")
    sign_in(cast.ada, reload(connection), server)

    row = reload(connection)
    assert row.credential is None
    assert call(row, a=1, b=1).text == "2"
    with pytest.raises(InvalidValue, match="Disconnect it first"):
        tools.replace_secret(cast.ada.principal, connection=row, secret="another key 0123456789")


def test_cancelled_sign_in_leaves_the_earlier_one(cast, signed_in, server):
    parameters = server.sign_in(begin(cast.ada, signed_in))
    answer = {"state": parameters["state"], "iss": parameters["iss"], "error": "access_denied"}

    with pytest.raises(InvalidValue, match="cancelled"):
        come_back(cast.ada, answer)

    assert reload(signed_in).sign_in.status == SignInStatus.SIGNED_IN
    assert call(signed_in, a=1, b=2).text == "3"


def test_disconnected_tokens_are_deleted_and_revoked(cast, signed_in, server):
    assert tools.sign_out(cast.ada.principal, connection=signed_in)

    row = reload(signed_in)
    assert (server.tokens, server.refresh_tokens) == ([], [])
    assert (row.sign_in.access_token, row.sign_in.refresh_token) == (None, None)
    assert row.sign_in.status == SignInStatus.NEEDED
    with pytest.raises(ToolFailed, match="'Desk' needs a new sign-in"):
        call(row, a=1, b=2)


def test_disconnection_holds_even_if_the_server_does_not_confirm_it(cast, signed_in, server):
    server.on_request["/revoke"] = refuse(503)

    assert not tools.sign_out(cast.ada.principal, connection=signed_in)
    assert reload(signed_in).sign_in.access_token is None


def test_removed_connection_is_revoked(cast, signed_in, server):
    tools.disconnect(cast.ada.principal, connection=signed_in)

    assert (server.tokens, server.refresh_tokens) == ([], [])


def test_tool_that_wants_more_permissions_is_told_and_asked_for_next_time(cast, signed_in, server):
    challenge = 'Bearer error="insufficient_scope", scope="tools admin"'

    def want_more():
        response = refuse(403, "insufficient_scope")()
        response.headers["www-authenticate"] = challenge
        return response

    server.on_request["/mcp"] = want_more
    with pytest.raises(ToolFailed, match="more permissions") as failure:
        call(signed_in, a=1, b=2)
    del server.on_request["/mcp"]

    row = reload(signed_in)
    assert not failure.value.retryable
    assert (row.sign_in.status, row.sign_in.missing_scope) == (SignInStatus.AGAIN, "tools admin")
    assert call(row, a=1, b=2).text == "3"  # what the tokens allow works on
    address = begin(cast.ada, row)
    assert set(server.sign_in(address)) >= {"code"}
    assert set(server.asked[-1]["scope"].split()) == {"tools", "admin"}


def test_secrets_of_sign_ins_are_counted_and_encrypted_anew(cast, signed_in):
    team_ids = [cast.team_a.pk]
    before, tokens = read_sealed(signed_in), read_tokens(signed_in)
    stored = [
        secret
        for secret in ("access_token", "refresh_token", "client_secret")
        if getattr(reload(signed_in).sign_in, secret)
    ]

    assert credentials.count_secrets(team_ids) == credentials.SecretCount(len(stored), 0)
    assert credentials.rotate_secrets(team_ids) == len(stored)
    assert read_sealed(signed_in) != before
    assert read_tokens(signed_in) == tokens


@pytest.mark.django_db(transaction=True)
def test_tokens_are_recognized_in_what_a_model_writes(cast, signed_in, server):
    workflow = make_workflow(cast.alice)
    is_in = async_to_sync(StoredSecrets(cast.team_a.pk, workflow.pk).is_in)

    assert is_in({"value": f"It is {server.tokens[0].token}."})
    assert is_in({"value": f"It is {server.refresh_tokens[0].token}."})
    assert not is_in({"value": "It is tea."})


def test_missing_sign_in_is_a_problem_of_the_draft(cast, signed_in):
    reference = ToolReference("mcp", "add", signed_in.slug)
    named = [NamedTool("tool_name", reference)]

    assert load_fault_finder(cast.team_a.pk, named)(reference) == ""
    change_sign_in(signed_in, access_token=None, refresh_token=None, error="gone")
    assert load_fault_finder(cast.team_a.pk, named)(reference) == (
        "Desk needs a sign-in; an admin signs in on the page Tools"
    )
