"""What fields and messages accept: types, extensions, origins and numbers, as Dify's documents say it."""

from typing import Any

import pytest

from tests.support.cases import for_each
from tests.support.documents import document, node
from workflows.engine.errors import InputRejected
from workflows.engine.files.rules import read_message_rules
from workflows.engine.language.start_form import check_start_inputs


def file(
    kind: str = "document", extension: str = ".pdf", method: str = "local_file"
) -> dict[str, Any]:
    return {
        "type": kind,
        "extension": extension,
        "transfer_method": method,
        "name": f"a{extension}",
    }


def check(variable: dict[str, Any], value: Any) -> list[str]:
    field = {"variable": "doc", "label": "Doc", "type": "file", "required": True, **variable}
    start = node("start", "start", variables=[field])
    try:
        check_start_inputs(document([start], []), {"doc": value})
    except InputRejected as rejected:
        return [problem.message for problem in rejected.problems]
    return []


@for_each(
    "variable, value, message",
    [
        ({}, file(), ""),
        ({"allowed_file_types": ["document", "image"]}, file(), ""),
        ({"allowed_file_types": ["image"]}, file(), "a.pdf is not of an accepted type (image)"),
        ({"allowed_file_types": ["custom"], "allowed_file_extensions": ["PDF"]}, file(), ""),
        (
            {"allowed_file_types": ["image", "custom"], "allowed_file_extensions": [".dwg"]},
            file(),
            "a.pdf is not of an accepted type (image, .dwg)",
        ),
        ({"allowed_file_types": ["custom"]}, file("custom", ".bin"), ""),
        (
            {"allowed_file_upload_methods": ["local_file"]},
            file(method="remote_url"),
            "a.pdf must come by one of: local_file",
        ),
        ({"type": "file-list", "max_length": 2}, [file()] * 2, ""),
        ({"type": "file-list", "max_length": 2}, [file()] * 3, "at most 2 files"),
        (
            {"type": "file-list", "allowed_file_types": ["image"]},
            [file("image", ".png"), file()],
            "a.pdf is not of an accepted type (image)",
        ),
    ],
)
def test_files_of_a_field_are_checked(variable: Any, value: Any, message: str) -> None:
    messages = check(variable, value)

    assert len(messages) == bool(message)
    assert all(message in text for text in messages)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({}, None),
        ({"file_upload": {"enabled": False}}, None),
        ({"file_upload": {"enabled": True}}, ((), (), (), 3)),
        (
            {
                "file_upload": {
                    "enabled": True,
                    "allowed_file_types": ["image", "custom"],
                    "allowed_file_extensions": ["JPG"],
                    "allowed_file_upload_methods": ["remote_url"],
                    "number_limits": 5,
                }
            },
            (("image", "custom"), (".jpg",), ("remote_url",), 5),
        ),
        (
            {
                "file_upload": {
                    "image": {"enabled": True, "number_limits": 2, "transfer_methods": []}
                }
            },
            (("image",), (), (), 2),
        ),
    ],
)
def test_rules_of_messages_are_read(features: Any, expected: Any) -> None:
    rules = read_message_rules(features)

    found = rules and (rules.types, rules.extensions, rules.methods, rules.max_count)
    assert found == expected
