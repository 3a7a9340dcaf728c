"""Whom a text of the trail names, and what stands there instead."""

from typing import Any

import pytest

from accounts.pseudonyms import (
    find_external_ids,
    find_persons,
    is_external,
    list_pseudonyms,
    replace_ids,
    replace_pseudonyms,
    substitute_names,
)
from tests.support.cases import for_each


ACCOUNT = "01a2046e-1111-7222-8333-444455556666"
OUTSIDE = "5d2c7a1e-1111-4222-8333-444455556666"  # as programmes elsewhere number people
HASH = "~" + "a" * 26


def swapped(subject: str, **detail: Any) -> tuple[str, dict[str, Any]]:
    return replace_ids(subject, detail, lambda one: f"<{one}>")


@for_each(
    "text, instead",
    [
        ("user:zoe", "user:<zoe>"),
        ("user:zoe@example.org", "user:<zoe@example.org>"),
        (f"user:ben@{ACCOUNT}", f"user:<ben@{ACCOUNT}>"),
        (f"user:{HASH}", f"user:<{HASH}>"),  # an id that looks like a pseudonym is an id
        (f"user:{ACCOUNT}", f"user:{ACCOUNT}"),
        (f"user:{OUTSIDE}", f"user:<{OUTSIDE}>"),
        (f"user:key-{ACCOUNT}", f"user:key-{ACCOUNT}"),
        ("user:用户甲", "user:<用户甲>"),
        ("user:Zoe%20Smith", "user:<Zoe Smith>"),
        ("user:a%3Ab", "user:<a:b>"),
        ("user:Zoe Smith", "user:<Zoe Smith>"),  # as a refused request wrote it
        ("user:zoe\x00", "user:~-"),  # nobody's id can be so
        ("user:" + "z" * 81, "user:~-"),
        ("user:", "user:"),
        ("conv:zoe", "conv:zoe"),
        ("global:default", "global:default"),
        ("superuser:zoe", "superuser:zoe"),
    ],
)
def test_subject_of_an_outside_person_is_swapped(text: str, instead: str):
    assert swapped(text)[0] == instead


@pytest.mark.parametrize(
    ("why", "instead"),
    [
        ("user:zoe is another team's.", "user:<zoe> is another team's."),
        ("'user:zoe' is not a namespace.", "'user:<zoe>' is not a namespace."),
        ("This run does not reach user:ana.", "This run does not reach user:<ana>."),
        ("user:zoe: 'zoe' is not a valid ID", "user:<zoe>: '<zoe>' is not a valid ID"),
        ("zoe was here, zoes weren't", "<zoe> was here, zoes weren't"),
        (f"user:{ACCOUNT} is private", f"user:{ACCOUNT} is private"),
        (f"user:{OUTSIDE} is private", f"user:<{OUTSIDE}> is private"),
    ],
)
def test_refusal_that_quotes_a_person_is_swapped(why: str, instead: str):
    assert swapped("user:zoe", why=why)[1] == {"why": instead}


@pytest.mark.parametrize(
    ("subject", "why", "instead"),
    [
        ("user:用户甲", "user:用户甲的记忆已满。用户甲知道", "user:<用户甲>的记忆已满。<用户甲>知道"),
        ("user:Zoe%20Smith", "user:Zoe%20Smith is full, Zoe Smith said",
         "user:<Zoe Smith> is full, <Zoe Smith> said"),
        ("user:zoe", "user:项目%3A甲 is private", "user:<项目:甲> is private"),
    ],
)  # fmt: skip
def test_refusal_that_quotes_an_id_of_any_script_is_swapped(subject: str, why: str, instead: str):
    assert swapped(subject, why=why)[1] == {"why": instead}


def test_refusal_quotes_no_name_that_cannot_be_an_id():
    name = "Zoë Smith" * 9
    told = f"user:{name}: {name[:100]!r} is not a valid ID; use 1 to 80 visible ASCII characters."

    subject, detail = swapped(f"user:{name}", why=told)

    assert "Smith" not in subject + detail["why"]
    assert "Zo" not in subject + detail["why"]
    assert detail["why"].endswith("is not a valid ID; use 1 to 80 visible ASCII characters.")


def test_persons_are_found_at_any_depth_and_values_like_their_ids_left():
    detail = {"asked": {"subject": "user:ana"}, "from": ["user:uma"], "user:eve": 1, "tier": "zoe"}

    assert find_persons("user:zoe", detail) == {"zoe", "ana", "uma", "eve"}
    assert swapped("user:zoe", **detail)[1] == {
        "asked": {"subject": "user:<ana>"}, "from": ["user:<uma>"], "user:<eve>": 1, "tier": "zoe",
    }  # fmt: skip


def test_pseudonyms_turn_back_while_somebody_knows_them():
    entry = [f"user:{HASH}", {"why": f"no {HASH}: gone", "n": 1}]

    assert list_pseudonyms(entry) == {HASH}
    assert substitute_names(entry, {HASH: "zoe"}) == ["user:zoe", {"why": "no zoe: gone", "n": 1}]
    assert substitute_names(entry, {}) == entry
    assert replace_pseudonyms(f"not into user:{HASH}.", "somebody") == "not into somebody."


def test_account_is_not_outside():
    ids = ("zoe", OUTSIDE, "用户甲", "a b", ACCOUNT, "", " a", "a\x00", "x" * 81)
    assert [is_external(one) for one in ids] == [True] * 4 + [False] * 5
    assert find_external_ids(f"user:{ACCOUNT}") == []
