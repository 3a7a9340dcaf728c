"""Secrets in rows and in text that streams."""

import json

import pytest

from config.redaction import Redactor
from workflows.execution.journal.masking import build_run_redactor


SECRETS = {"KEY": "sk-abcdef", "LONG": "sk-abcdef-and-more", "QUOTED": 'a"b\\c', "TINY": "abc"}


@pytest.fixture
def mask() -> Redactor:
    return build_run_redactor("run-1", SECRETS)


def test_masked_row_shows_no_secret_and_comes_back_whole(mask: Redactor) -> None:
    row = json.dumps({"sk-abcdef": ["x sk-abcdef-and-more", 'a"b\\c'], "short": "abc"})

    masked = mask.redact_json_text(row)

    assert not any(secret in json.dumps(json.loads(masked)) for secret in ("sk-abcdef", "and-more"))
    assert json.loads(masked)["short"] == "abc"
    assert mask.restore_json_text(masked) == row


def test_text_that_looks_like_a_mask_stays_text(mask: Redactor) -> None:
    typed = '"[secret KEY 000000000000]"'

    assert mask.restore_json_text(mask.redact_json_text(typed)) == typed


def test_mask_of_another_run_is_not_taken_off(mask: Redactor) -> None:
    other = build_run_redactor("run-2", SECRETS)

    assert "sk-abcdef" not in mask.restore_json_text(other.redact_json_text('"sk-abcdef"'))


@pytest.mark.parametrize("secret", ["sk-abcdef", "sk-abcdef-and-more", 'a"b\\c'])
def test_secret_cut_anywhere_is_masked_in_the_stream(mask: Redactor, secret: str) -> None:
    text = f"say {secret} twice {secret}"
    whole = json.loads(mask.redact_json_text(json.dumps(text)))

    for first in range(len(text)):
        for second in range(first, len(text)):
            stream = mask.stream()
            pieces = [text[:first], text[first:second], text[second:]]
            shown = [*map(stream.add, pieces), stream.end()]

            assert "".join(shown) == whole


def test_secret_letter_by_letter_is_never_shown_in_part(mask: Redactor) -> None:
    stream = mask.stream()

    shown = [stream.add(letter) for letter in "ok sk-abcdef-and"]

    assert "".join(shown) == "ok "
    assert stream.end().endswith("]-and")


def test_beginning_that_becomes_no_secret_is_shown_unchanged(mask: Redactor) -> None:
    stream = mask.stream()

    assert stream.add("s") == ""
    assert stream.add("un ") == "sun "
    assert stream.add("sk-ab") + stream.end() == "sk-ab"


def test_text_without_secrets_is_not_held_back() -> None:
    assert build_run_redactor("run-1", {}).stream().add("sk-") == "sk-"
