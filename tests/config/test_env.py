import pytest
from pydantic import ValidationError

from config.env import Env, describe_errors


GOOD_KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="  # the same in every process of a test run


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("PORT", "eighty", "port of the web server"),
        ("PORT", "70000", "port of the web server"),
        ("DATABASE_URL", "mysql://x/y", "must be a PostgreSQL URL"),
        ("BROKER_URL", "http://x", "must start with one of amqp://"),
        ("SECRET_KEY", "short", "signs sessions"),
        ("SECRET_KEYS_AT_REST", "too-short", "key 1 is not a Fernet key"),
        ("SECRET_KEYS_AT_REST", f"{GOOD_KEY},{GOOD_KEY[:-2]}", "key 2 is not a Fernet key"),
        ("LOG_LEVEL", "LOUD", "minimum level of logged events"),
    ],
)
def test_env_wrong_value_is_explained_with_its_name_and_meaning(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, hint: str
):
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError) as caught:
        Env()

    explanation = describe_errors(caught.value)
    assert f"{name}: " in explanation
    assert hint in explanation
    assert GOOD_KEY[:-2] not in explanation


def test_commands_of_mcp_servers_have_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MCP_STDIO_COMMANDS", "git=/bin/mcp-git --repository /srv, time = x")
    with pytest.raises(ValidationError, match="name=command"):
        Env()

    monkeypatch.setenv("MCP_STDIO_COMMANDS", "git=/bin/mcp-git --repository /srv,time=/bin/t")
    assert Env().mcp_stdio_commands == ("git=/bin/mcp-git --repository /srv", "time=/bin/t")


def test_env_empty_means_not_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DATABASE_URL", "")

    assert Env().embedded_database


@pytest.mark.parametrize("name", ["allowed_hosts", "memory_places", "net_allow"])
def test_env_lists_are_comma_separated(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setenv(name.upper(), "a.example, b.example,")

    assert getattr(Env(), name) == ("a.example", "b.example")
