"""What a model wants to do to memory counts only if the person's own words say so."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from workflows.engine.memory_ports import FactOperation
from workflows.engine.nodes.memory.fact_operations import check_operations


IDS = {"k1": "id-of-berlin", "k2": "id-of-phone"}
ADD = {"action": "add", "text": "I moved.", "evidence": "I moved"}


def check(
    *operations: Mapping[str, Any], may_forget: bool = True, fault: str = ""
) -> tuple[Sequence[FactOperation], list[str]]:
    checked, dropped = check_operations(
        operations, IDS, lambda operation: fault, may_forget=may_forget
    )
    return [*checked], [each.reason for each in dropped]


def test_operations_get_the_ids_of_the_entries() -> None:
    checked, dropped = check(
        {
            "action": "replace",
            "id": "k1",
            "text": " I live\nin Lyon. ",
            "evidence": "I moved to Lyon",
        },
        {"action": "forget", "id": "k2", "evidence": "forget my phone number"},
        {"action": "add", "text": "I moved in November.", "evidence": "LAST WEEK", "id": "k1"},
        {"action": "end", "id": "k1", "text": "ignored", "evidence": "I moved"},
    )

    assert dropped == []
    assert checked == [
        FactOperation("replace", "I live in Lyon.", ("id-of-berlin",), "I moved to Lyon"),
        FactOperation("forget", "", ("id-of-phone",), "forget my phone number"),
        FactOperation("add", "I moved in November.", (), "LAST WEEK"),
        FactOperation("end", "", ("id-of-berlin",), "I moved"),
    ]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"action": "add", "text": " ", "evidence": "I moved"}, "the text is missing"),
        ({"action": "replace", "text": "x", "evidence": "I moved"}, "the id is not one that was shown"),
        ({"action": "end", "id": "id-of-berlin", "evidence": "I moved"}, "the id is not one that was shown"),
        ({"action": "end", "id": "k9", "evidence": "I moved"}, "the id is not one that was shown"),
    ],
)  # fmt: skip
def test_operation_of_no_use_is_dropped_with_its_reason(
    operation: Mapping[str, Any], reason: str
) -> None:
    assert check(operation) == ([], [reason])


def test_memory_is_told_the_operation_and_says_why_the_message_does_not_say_it() -> None:
    operations: list[Mapping[str, Any]] = []

    def find_fault(operation: Mapping[str, Any]) -> str:
        operations.append(operation)
        return "the evidence says too little"

    end = {"action": "end", "id": "k1", "evidence": "Hi"}
    checked, dropped = check_operations([end], IDS, find_fault, may_forget=False)

    assert [(each.operation, each.reason) for each in dropped] == [
        (end, "the evidence says too little")
    ]
    assert checked == ()
    assert operations == [
        {
            "action": "end",
            "text": "",
            "targets": ("id-of-berlin",),
            "evidence": "Hi",
            "key": "",
            "valid_from": "",
            "valid_until": "",
        }
    ]


def test_nothing_is_forgotten_that_the_person_did_not_ask_to_forget() -> None:
    operation = {"action": "forget", "id": "k1", "evidence": "I moved"}

    assert check(operation, may_forget=False) == (
        [],
        ["the person did not ask to forget anything"],
    )


def test_same_operation_counts_once_and_there_are_at_most_twenty() -> None:
    many = [{**ADD, "text": f"I moved {number}."} for number in range(30)]

    assert len(check(ADD, ADD)[0]) == 1
    checked, dropped = check(*many)
    assert (len(checked), len(dropped)) == (20, 10)


def test_question_names_several_shown_entries_and_needs_a_wish_to_forget() -> None:
    ask = {"action": "ask", "ids": ["k2", "k1"], "evidence": "forget my phone number"}

    assert check(ask) == (
        [FactOperation("ask", "", ("id-of-berlin", "id-of-phone"), "forget my phone number")], []
    )  # fmt: skip
    assert check({**ask, "ids": ["k1"]}) == ([], ["there is nothing to choose"])
    assert check({**ask, "ids": ["k1", "k9"]}) == ([], ["the id is not one that was shown"])
    assert check({**ask, "ids": []}) == ([], ["the id is not one that was shown"])
    assert check(ask, may_forget=False) == ([], ["the person did not ask to forget anything"])


def test_dates_are_those_of_the_operation() -> None:
    add = {"action": "add", "text": "I moved.", "evidence": "I moved", "valid_from": "2001-01-01"}

    (operation,), dropped = check(add)

    assert ((operation.valid_from, operation.valid_until), dropped) == (("2001-01-01", ""), [])


@pytest.mark.parametrize(
    ("dates", "reason"),
    [
        ({"valid_from": "next spring"}, "the date is not an ISO date"),
        ({"valid_until": "2026-02-30"}, "the date is not an ISO date"),
        (
            {"valid_from": "2005-01-01", "valid_until": "2001-01-01"},
            "it would end before it begins",
        ),
    ],
)
def test_operation_with_impossible_dates_is_dropped(dates: dict[str, str], reason: str) -> None:
    assert check({"action": "add", "text": "I moved.", "evidence": "I moved", **dates}) == (
        [], [reason]
    )  # fmt: skip
