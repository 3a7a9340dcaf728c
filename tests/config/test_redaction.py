"""A live secret is blotted out in every form it travels in."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from config.redaction import MASK, LogRedactor, build_redactor
from tests.support.cases import for_each


CANARY = 'sk-Canary+7/f3=a9&1c0de"ü'


@for_each(
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
    clean = build_redactor([CANARY, "another-secret"]).redact_text(text)

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

    clean = build_redactor([CANARY]).redact(value)

    assert "Canary" not in repr(clean)
    assert (clean["n"], clean["t"]) == (5, True)
    assert clean["a"][1] == ("x", MASK)


def test_processor_cleans_a_log_event() -> None:
    log = LogRedactor()
    log.add(CANARY)

    event = log.process(None, "info", {"event": f"used {CANARY}", "n": 1})

    assert event == {"event": f"used {MASK}", "n": 1}


def test_log_forgets_the_oldest_secret_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.redaction._MAX_LOG_SECRETS", 2)
    log = LogRedactor()
    for secret in ("secret-one", "secret-two", "secret-two", "secret-three"):
        log.add(secret)

    event = log.process(None, "info", {"event": "secret-one secret-two secret-three"})

    assert event == {"event": f"secret-one {MASK} {MASK}"}


def test_bytes_without_a_secret_stay_as_they_are() -> None:
    assert build_redactor([CANARY]).redact(b"\xff\x00") == b"\xff\x00"


def test_longer_secret_is_blotted_out_whole_when_it_contains_a_shorter() -> None:
    assert build_redactor(["abcdef", "abcdefghij"]).redact_text("abcdefghij") == MASK


def test_short_or_no_secret_changes_nothing() -> None:
    assert build_redactor(["", "abc"]).redact_text("abc and more") == "abc and more"
    assert build_redactor([]).redact({"a": "b"}) == {"a": "b"}


def test_redactor_is_made_once_for_a_set_of_secrets() -> None:
    assert build_redactor(["secret-one", "secret-two"]) is build_redactor(
        ["secret-two", "secret-one"]
    )


class SearchedText(str):
    """Counts how often it is searched by the quick search, which a secret's form needs once."""

    searches = 0

    def __contains__(self, part: object) -> bool:
        type(self).searches += 1
        return super().__contains__(part)  # type: ignore[operator]


def test_redaction_of_an_ordinary_text_is_one_quick_search_for_each_form() -> None:
    redactor = build_redactor([f"sk-{i:040d}" for i in range(50)])
    text = SearchedText("an ordinary line of a log without anything secret in it\n" * 2000)

    assert redactor.redact_text(text) == text

    table = redactor._plain_table
    assert SearchedText.searches == len(table.replacements)
    assert "pattern" not in vars(
        table
    )  # the slow search, which would go through the text once more
