"""Rows and objects of memory."""

from __future__ import annotations

from typing import Any

from tests.architecture.matrix_core import Maker, Row
from tests.support.cast import Person


def _caller(person: Person, run_id: str = "") -> Any:
    from memory.services import CallOrigin, MemoryCaller

    return MemoryCaller(person.principal, person.team.id, origin=CallOrigin(run_id, "node", "step"))


def _entry(person: Person, canary: str) -> Any:
    """In application memory, which the team shares; recalled by a run, so that there is a read too."""
    from memory.services import recall, remember

    namespace = f"global:{canary}"
    entry = remember(
        _caller(person),
        key=canary,
        value=canary,
        metadata={"m": canary, "group": canary},
        namespace=namespace,
    )
    recall(_caller(person, run_id=canary), namespace=namespace)
    return entry.id


def _private_entry(person: Person, canary: str) -> Any:
    """What is remembered about the person themselves."""
    from memory.services import remember

    namespace = f"user:{person.user.pk}"
    return remember(_caller(person), key=canary, value=canary, namespace=namespace).id


def _subject(person: Person, canary: str) -> Any:
    """A person about whom something is remembered."""
    _private_entry(person, canary)
    return person.user.pk


def _namespace(person: Person, canary: str) -> Any:
    return _namespace_of(person, _entry(person, canary))


def _private_namespace(person: Person, canary: str) -> Any:
    return _namespace_of(person, _private_entry(person, canary))


def _namespace_of(person: Person, entry_id: Any) -> Any:
    from accounts.tenancy import tenant
    from memory.models import Entry

    with tenant([person.team.id]):
        return Entry.objects.unscoped().get(pk=entry_id).namespace_id


def _change(person: Person, canary: str) -> Any:
    from memory.services import forget

    return forget(_caller(person), entry_id=_entry(person, canary)).change_id


def _policy(person: Person, canary: str) -> Any:
    from accounts.tenancy import tenant
    from memory.models import Policy

    with tenant([person.team.id]):
        return Policy.objects.unscoped().create(team=person.team, app_id=canary).id


def _embedding(person: Person, canary: str) -> Any:
    from accounts.tenancy import tenant
    from memory.models import Embedding, Entry

    # Of its own: what others of the matrix forget has none.
    entry_id = _entry(person, f"{canary}-meant")
    with tenant([person.team.id]):
        entry = Entry.objects.unscoped().get(pk=entry_id)
        row = Embedding.objects.unscoped().create(
            team=person.team,
            entry=entry,
            namespace_id=entry.namespace_id,
            number=entry.number or 0,
            text_hash=canary,
        )
    return row.pk


def _person_of_run(person: Person, canary: str) -> Any:
    from accounts.tenancy import tenant
    from memory.models import RunPerson

    with tenant([person.team.id]):
        row, _made = RunPerson.objects.unscoped().get_or_create(
            team=person.team, run_id=canary, defaults={"subject": str(person.user.pk)}
        )
    return row.pk


OBJECTS: dict[str, Maker] = {
    "entry": _entry,
    "embedding": _embedding,
    "private entry": _private_entry,
    "namespace": _namespace,
    "private namespace": _private_namespace,
    "change": _change,
    "subject": _subject,
    "memory policy": _policy,
    "person of a run": _person_of_run,
}

ENTRY = {"entry_id": "entry"}
PRIVATE = {"entry_id": "private entry"}
CHANGE = {"change_id": "change"}
NAMESPACE = {"namespace_id": "namespace"}
PRIVATE_NAMESPACE = {"namespace_id": "private namespace"}
FORM = {
    "value": "x",
    "kind": "text",
    "metadata": "{}",
    "category": "fact",
    "tier": "long_term",
    "revision": "1",
}
MOVE = {"move": "quarantine quarantine"}
SHARED = {"namespace": "global:matrix"}

# anonymous, outsider, viewer, editor, admin, other team's key
ROWS = [
    Row("GET", "memory/", "- 200 200 200 200 -"),
    Row("GET", "memory/namespaces/", "- 200 200 200 200 -"),
    Row("GET", "memory/namespaces/<uuid:namespace_id>/", "- 404 200 200 200 -", NAMESPACE),
    # Private to a person: no role opens it
    Row("GET", "memory/namespaces/<uuid:namespace_id>/", "- 404 404 404 404 -", PRIVATE_NAMESPACE),
    Row(
        "POST",
        "memory/namespaces/<uuid:namespace_id>/act/",
        "- 404 302 302 302 -",
        NAMESPACE,
        {},
    ),
    Row("GET", "memory/entries/<uuid:entry_id>/", "- 404 200 200 200 -", ENTRY),
    Row("GET", "memory/entries/<uuid:entry_id>/", "- 404 404 404 404 -", PRIVATE),
    Row("POST", "memory/entries/<uuid:entry_id>/edit/", "- 404 403 302 302 -", ENTRY, FORM),
    Row("POST", "memory/entries/<uuid:entry_id>/edit/", "- 404 404 404 404 -", PRIVATE, FORM),
    Row("POST", "memory/entries/<uuid:entry_id>/forget/", "- 404 403 302 302 -", ENTRY, {}),
    Row("POST", "memory/entries/<uuid:entry_id>/forget/", "- 404 404 404 404 -", PRIVATE, {}),
    Row("POST", "memory/entries/<uuid:entry_id>/restore/", "- 404 403 302 302 -", ENTRY, {}),
    Row(
        "POST",
        "memory/entries/<uuid:entry_id>/use/",
        "- 404 403 302 302 -",
        ENTRY,
        {"use": "always"},
    ),
    Row(
        "POST",
        "memory/entries/<uuid:entry_id>/use/",
        "- 404 404 404 404 -",
        PRIVATE,
        {"use": "always"},
    ),
    Row("POST", "memory/entries/<uuid:entry_id>/move/", "- 404 403 302 302 -", ENTRY, MOVE),
    Row("POST", "memory/entries/<uuid:entry_id>/move/", "- 404 404 404 404 -", PRIVATE, MOVE),
    Row("POST", "memory/changes/<uuid:change_id>/undo/", "- 404 403 302 302 -", CHANGE, {}),
    # The API
    *(
        Row(
            method,
            "api/v1/memory/namespaces/<uuid:namespace_id>/grants",
            f"- 404 {expect} 404",
            {**place, "member": "account"},
            {"verb": "view"},
        )
        for method in ("POST", "DELETE")
        for place, expect in ((NAMESPACE, "403 403 204"), (PRIVATE_NAMESPACE, "404 404 404"))
    ),
    Row("GET", "api/v1/memory/namespaces", "- 200 200 200 200 200"),
    Row("GET", "api/v1/memory/search", "- 422 422 422 422 422"),
    Row("GET", "api/v1/memory/entries", "- 422 422 422 422 422"),
    Row(
        "POST",
        "api/v1/memory/entries",
        "- 201 403 201 201 201",
        body={**SHARED, "key": "k", "value": 1},
    ),
    Row("POST", "api/v1/memory/recall", "- 200 200 200 200 200", body=SHARED),
    Row("POST", "api/v1/memory/forget", "- 200 403 200 200 200", body={**SHARED, "key": "k"}),
    Row("POST", "api/v1/memory/clear", "- 200 403 200 200 200", body=SHARED),
    Row("GET", "api/v1/memory/history", "- 422 422 422 422 422"),
    Row("GET", "api/v1/memory/entries/<uuid:entry_id>", "- 404 200 200 200 404", ENTRY),
    Row("GET", "api/v1/memory/entries/<uuid:entry_id>", "- 404 404 404 404 404", PRIVATE),
    # Without If-Match nobody gets further
    Row(
        "PATCH",
        "api/v1/memory/entries/<uuid:entry_id>",
        "- 422 422 422 422 422",
        ENTRY,
        {},
        foreign=422,
    ),
    Row("DELETE", "api/v1/memory/entries/<uuid:entry_id>", "- 404 403 200 200 404", ENTRY),
    Row("DELETE", "api/v1/memory/entries/<uuid:entry_id>", "- 404 404 404 404 404", PRIVATE),
    Row(
        "POST", "api/v1/memory/entries/<uuid:entry_id>/restore", "- 404 403 200 200 404", ENTRY, {}
    ),
    Row(
        "POST",
        "api/v1/memory/entries/<uuid:entry_id>/restore",
        "- 404 404 404 404 404",
        PRIVATE,
        {},
    ),
    Row("GET", "api/v1/memory/entries/<uuid:entry_id>/recalled-by", "- 404 200 200 200 404", ENTRY),
    Row(
        "GET", "api/v1/memory/entries/<uuid:entry_id>/recalled-by", "- 404 404 404 404 404", PRIVATE
    ),
    Row("GET", "api/v1/memory/entries/<uuid:entry_id>/revisions", "- 404 200 200 200 404", ENTRY),
    Row("GET", "api/v1/memory/entries/<uuid:entry_id>/revisions", "- 404 404 404 404 404", PRIVATE),
    Row(
        "POST",
        "api/v1/memory/subjects/<path:subject>/erase",
        "- 404 404 404 404 404",
        {"subject": "subject"},
        {},
    ),
    Row("POST", "api/v1/memory/changes/<uuid:change_id>/undo", "- 404 403 200 200 404", CHANGE, {}),
    # Tiers; without If-Match nobody gets further
    # A run that nobody knows, and one that only an admin may see
    Row(
        "POST",
        "api/v1/memory/runs/<uuid:run_id>/undo",
        "- 404 404 404 404 404",
        {"run_id": "change"},
        {"dry_run": True},
    ),
    Row(
        "POST",
        "api/v1/memory/runs/<uuid:run_id>/undo",
        "- 404 404 404 200 404",
        {"run_id": "paused run for ada"},
        {"dry_run": True},
    ),
    Row("GET", "api/v1/memory/quarantine", "- 422 422 422 422 422"),
    Row(
        "POST",
        "api/v1/memory/entries/<uuid:entry_id>/move",
        "- 422 422 422 422 422",
        ENTRY,
        {"move": "quarantine"},
        foreign=422,
    ),
    Row(
        "POST",
        "api/v1/memory/move",
        "- 404 404 404 404 404",
        body={"move": "promote", "entries": ["01a0c3f0-0000-7000-8000-000000000000"]},
    ),
]
