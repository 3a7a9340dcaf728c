"""What docs and pages tell a stranger to type is what the API takes."""

import html
import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from accounts.roles import SCOPES
from accounts.services import create_group
from accounts.tenancy import tenant
from config.env import ROOT
from memory import services
from memory.models import Namespace
from tests.memory.services.conftest import at_door
from tests.support.cast import Cast, KeyClient


pytestmark = pytest.mark.django_db

TEXT = (ROOT / "docs/build/use-memory-over-the-api.md").read_text(encoding="utf-8")
LINE = re.compile(r"^(?:\w+=\$\()?(call .*?)(?: \| python3 .*)?$", re.M)
BAD = (400, 401, 403, 404, 405, 409, 415, 422, 500)


@dataclass(frozen=True)
class Call:
    """One line of curl."""

    verb: str
    address: str
    headers: dict[str, str]
    body: str


def read(words: list[str]) -> Call:
    verb, address, body, headers = "GET", "", "", {}
    rest = iter(words[1:])
    for word in rest:
        if word == "-X":
            verb = next(rest)
        elif word == "-d":
            body = next(rest)
        elif word == "-H":
            name, _colon, value = next(rest).partition(": ")
            headers[name] = value
        elif word == ">":
            next(rest)
        elif not word.startswith("-"):
            address = word
    return Call(verb, re.sub(r"^(\$API|https?://[^/]+/api/v1)", "/api/v1", address), headers, body)


def sent(client: KeyClient, call: Call, names: dict[str, str]) -> Any:
    address, body = call.address, call.body
    for name, value in names.items():
        address, body = address.replace(f"${name}", value), body.replace(f"${name}", value)
    headers = {name: value for name, value in call.headers.items() if name == "If-Match"}
    return client.generic(
        call.verb, address, body or "", content_type="application/json", headers=headers
    )


def test_every_call_of_the_page_is_taken_as_it_stands(
    cast: Cast, api_key: Callable[..., KeyClient]
) -> None:
    client = api_key(cast.ada, scopes={*SCOPES, "audit:read"})
    names, refused, made = {"ENTRY": "", "TASK": ""}, [], 0

    for line in LINE.findall(TEXT):
        call = read(shlex.split(line, comments=True))
        if "/memory/import" in call.address:
            exported = client.get("/api/v1/memory/export?namespace=user:ana")
            file = b"".join(exported.streaming_content).decode()
            call = Call(call.verb, call.address, call.headers, json.dumps({"file": file}))
        answer = sent(client, call, names)
        made += 1
        if answer.status_code in BAD:
            refused.append((line, answer.status_code, answer.content.decode()[:200]))
        if "/memory/entries" in call.address and call.verb == "POST" and not names["ENTRY"]:
            names["ENTRY"] = answer.json()["id"]
        if call.address.endswith("/tasks"):
            names["TASK"] = answer.json()["id"]

    assert refused == []
    assert made == len(re.findall(r"^(?:\w+=\$\()?call ", TEXT, re.M)) > 15


def curls(page: str) -> Iterator[Call]:
    for _tag, block in re.findall(r'<(code|pre) class="code">(curl .*?)</\1>', page, re.S):
        for line in html.unescape(block).splitlines():
            yield read(shlex.split(line))


def test_what_pages_show_works_with_the_key_they_speak_of(
    cast: Cast, api_key: Callable[..., KeyClient]
) -> None:
    create_group(cast.ada.principal, team=cast.team_a, name="Support")
    services.remember(at_door(cast.ada), namespace="global:app", key="k", value=1)
    with tenant([cast.team_a.pk]):
        place = Namespace.objects.unscoped().get(text="global:app").pk
    client = api_key(cast.ada, scopes={*SCOPES, "audit:read"})
    refused, shown = [], 0

    for path in (
        "/team/groups/", "/team/audit/", "/team/keys/", "/memory/policy/", "/memory/policy/?app=app",
        "/memory/emergency-access/", "/memory/about/", f"/memory/namespaces/{place}/access/",
    ):  # fmt: skip
        for call in curls(cast.ada.client.get(path).content.decode()):
            shown += 1
            answer = sent(client, call, {})
            if answer.status_code in BAD:
                refused.append((path, call.address, answer.status_code))

    assert refused == []
    assert shown >= 9
