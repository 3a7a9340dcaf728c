"""Secrets by their shape: found, blotted out, and ordinary text left alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.logic.entries.secrets import find_secrets, redact, redact_json
from tests.memory.logic.support import quick
from tests.support.cases import for_each
from tests.support.processor_time import limit_cpu


# Put together here, so that no scanner takes this file for a leak.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HEAD = "eyJ"
JWT = f"{HEAD}hbGciOiJIUzI1NiJ9.{HEAD}zdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
PEM = "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE" + " KEY-----"

SECRETS = [
    ("API key", f"key {'sk-' + 'proj-AbCd1234EfGh5678IjKl9012'} works"),
    ("API key", "sk-" + "ant-api03-abcdefGHIJKL0123456789-_x"),
    ("API key", "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"),
    ("API key", "AIza" + "SyA-1234567890abcdefghijklmnopqrstu"),
    ("API key", "hf_" + "abcdEFGH1234abcdEFGH1234abcdEFGH12"),
    ("API key", "SG." + "ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf09kqeF8tAmbihYzrnopKc1s5cr"),
    ("AWS key", f"aws {AWS}."),
    ("access token", f"use {GITHUB} here"),
    ("access token", "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop"),
    ("access token", "glpat-" + "abcdefghij0123456789"),
    ("access token", "xoxb-" + "123456789012-abcdefABCDEF"),
    ("access token", "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789"),
    ("access token", "110201543:AA" + "HdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"),
    ("access token", "Authorization: Bearer abcdef0123456789"),
    ("access token", "curl -H 'authorization: Basic dXNlcjpwYXNzd29yZA=='"),
    ("JWT", JWT),
    ("private key", f"look:\n{PEM}\nbye"),
    ("private key", "-----BEGIN OPENSSH PRIVATE" + " KEY-----\nb3BlbnNz and then it was cut"),
    (
        "secret address",
        "https://hooks.slack.com/services/" + "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    ),
    ("password in an address", "postgres://app:s3cr3t@db.example.com:5432/x"),
    ("password in an address", "redis://:hunter2hunter2@cache/0"),
    ("account key", "AccountName=x;AccountKey=abcdefghijklmnopqrstuvwxyz0123456789+/=="),
    ("password", 'password = "correct horse battery"'),
    ("password", "DB_PASSWORD=hunter2!"),
    ("password", "my password is Tr0ub4dor&3."),
    ("password", '{"client_secret": "abcDEF123"}'),
    ("password", "api_key: 9f86d081884c7d659a2feaa0c55ad015"),
    ("password", "https://x.example/?token=abc123def456&page=2"),
    ("password", "密码是 Abc12345"),
    ("password", "口令：S3cret!pass"),
    ("card number", "card 4111 1111 1111 1111 exp 12/30"),
    ("card number", "5500-0000-0000-0004"),
    ("card number", "378282246310005"),
    ("card number", "银联卡6222021234567894的余额".replace("卡", "卡 ").replace("的", " 的")),
]


@for_each("kind, text", SECRETS)
def test_secret_is_found(kind: str, text: str):
    assert [one.kind for one in find_secrets(text)] == [kind]


ORDINARY = [
    "Please choose a password with at least twelve characters.",
    "password: required",
    "The password is stored hashed.",
    "My password was changed yesterday.",
    'password = "<your password>"',
    "password=${DB_PASSWORD}",
    "token = os.environ['TOKEN']",
    "api_key = get_secret('name')",
    "PASSWORD=********",
    "token: string",
    "The secret is patience.",
    "the token is well-known",
    "pass: 2026-01-01",
    "Commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b fixes it",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "Call +49 170 1234567 or 4111 1111 1111 1112",
    "1111 1111 1111 1111 is a made-up number",
    "timestamp 1703123456789 and 20260101120000",
    "order 1234567890123456",
    "pi is 3.14159265358979323846",
    "https://example.com:8080/path@home",
    "mail me: ann@example.com",
    "ssh://git@example.com/repo",
    "sk-learn is a library; sk-something-like-a-long-name",
    "The bearer of this letter is Ann.",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "base64 aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ=",
    "密码必须至少八位",
    "忘记密码是常见的问题",
    "The PIN is on the back",
    "compass: north-east",
    "",
]


@for_each("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str):
    assert redact(text).value == text


def test_redaction_keeps_the_sentence_round_it():
    """seed 1 §3 safety: an API key never leaks."""
    done = redact(f"Deploy with {GITHUB} and postgres://app:s3cr3t@db/x, please.")

    assert done.value == (
        "Deploy with [redacted: access token] and "
        "postgres://app:[redacted: password in an address]@db/x, please."
    )
    assert done.kinds == ("access token", "password in an address")


def test_redaction_takes_secrets_out_of_json_at_any_depth():
    value = {
        "note": [f"use {AWS}", 7, None, True],
        "password": "swordfish",
        "db_password": "",
        "nested": {"api_key": "abcdefgh", "pass": "no"},
        "tokens": 12,
    }

    done = redact_json(value)

    assert done.value == {
        "note": ["use [redacted: AWS key]", 7, None, True],
        "password": "[redacted: password]",
        "db_password": "",
        "nested": {"api_key": "[redacted: password]", "pass": "no"},
        "tokens": 12,
    }
    assert done.kinds == ("AWS key", "password")


def test_known_secret_is_found_whatever_it_looks_like():
    assert redact("say open sesame twice: open sesame", ["open sesame"]).value == (
        "say [redacted: known secret] twice: [redacted: known secret]"
    )
    assert redact("a cat", ["cat"]).value == "a cat"


def test_secrets_that_overlap_are_blotted_out_as_one():
    assert redact("pass swordfish-and-tuna now", ["swordfish", "fish-and-tuna"]).value == (
        "pass [redacted: known secret] now"
    )


@quick
@given(st.text(max_size=80), st.sampled_from(SECRETS), st.text(max_size=80))
def test_redacting_again_changes_nothing(before: str, secret: tuple[str, str], after: str):
    once = redact(f"{before}\n{secret[1]}\n{after}").value

    assert redact(once).value == once


HOSTILE = [
    "a" * 200_000,
    "password=" * 20_000,
    "eyJ" * 60_000,
    "-----BEGIN PRIVATE KEY-----" * 5_000,
    "1 " * 100_000,
    "http://" + "a:" * 100_000,
    "sk-" * 60_000,
    "'" * 200_000,
    "token " * 30_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
@pytest.mark.timed  # regular expressions can't be counted
def test_hostile_text_costs_no_more_than_a_long_one(text: str):
    with limit_cpu(3):
        find_secrets(text)


def test_values_that_are_no_texts_pass():
    value: Any = [1, 2.5, None, False, {}]

    assert redact_json(value).value == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=Tr0ub4dor&3", "password=[redacted: password]"),
        ("password=Zx9&&&b2c", "password=[redacted: password]"),
        ("my password is Ab3;x9,Q, I think", "my password is [redacted: password], I think"),
        # A separator before another field ends the secret.
        ("?password=hunter22x&user=ana", "?password=[redacted: password]&user=ana"),
        ("Password=abC123;Host=db", "Password=[redacted: password];Host=db"),
        ("{password:hunter22,user:bob}", "{password:[redacted: password],user:bob}"),
    ],
)
def test_password_with_a_separator_inside_is_redacted_as_a_whole(text: str, expected: str):
    assert redact(text).value == expected
