"""A live secret is blotted out in every form it travels in."""

import base64
import json
import time
from urllib.parse import quote, quote_plus

import pytest

from workflows.llm.redaction import MASK, Redactor, redactor


CANARY = 'sk-Canary+7/f3=a9&1c0de"ü'


@pytest.mark.parametrize(
    "text",
    [
        CANARY,
        f"Authorization: Bearer {CANARY}\n",
        quote(CANARY),
        quote(CANARY, safe=""),
        f"https://x.example/?key={quote_plus(CANARY)}&a=b",
        json.dumps({"key": CANARY}),
        json.dumps({"key": CANARY}, ensure_ascii=False),
        CANARY.encode().hex(),
        base64.b64encode(CANARY.encode()).decode(),
        base64.urlsafe_b64encode(CANARY.encode()).decode(),
        *(base64.b64encode(b"user:"[:n] + CANARY.encode() + b"!").decode() for n in range(6)),
    ],
)
def test_secret_is_blotted_out_of_a_text(text: str) -> None:
    clean = Redactor([CANARY, "another-secret"]).text(text)

    assert MASK in clean
    assert CANARY not in clean
    assert "Canary" not in clean
    assert base64.b64encode(CANARY.encode()).decode()[4:-4] not in clean


def test_secret_is_blotted_out_of_json_keys_bytes_and_errors() -> None:
    value = {
        "a": [CANARY, ("x", CANARY), {CANARY: 1}],
        "b": CANARY.encode(),
        "c": ValueError(f"bad key {CANARY}"),
        "n": 5,
        "t": True,
    }

    clean = Redactor([CANARY]).value(value)

    assert "Canary" not in repr(clean)
    assert (clean["n"], clean["t"]) == (5, True)
    assert clean["a"][1] == ("x", MASK)


def test_processor_cleans_a_log_event() -> None:
    event = Redactor([CANARY]).processor(None, "info", {"event": f"used {CANARY}", "n": 1})

    assert event == {"event": f"used {MASK}", "n": 1}


def test_longer_secret_is_blotted_out_whole_when_it_contains_a_shorter() -> None:
    assert Redactor(["abcdef", "abcdefghij"]).text("abcdefghij") == MASK


def test_short_or_no_secret_changes_nothing() -> None:
    assert Redactor(["", "abc"]).text("abc and more") == "abc and more"
    assert Redactor([]).value({"a": "b"}) == {"a": "b"}


def test_redactor_is_made_once_for_a_set_of_secrets() -> None:
    assert redactor(["secret-one", "secret-two"]) is redactor(["secret-two", "secret-one"])


def test_redaction_is_fast() -> None:
    blot = Redactor([f"sk-{i:040d}" for i in range(50)])
    text = "an ordinary line of a log without anything secret in it\n" * 2000

    start = time.process_time()
    assert blot.text(text) == text

    assert time.process_time() - start < 0.25
