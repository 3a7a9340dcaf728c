"""Replace the files that a client names in its inputs by stored files of the person, as values of the workflow.

Nothing of a client's object is believed but the id of a file, which must be the person's own, or an address on the web.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from accounts.access import Principal
from accounts.personas import make_service_subject
from accounts.principals import get_service_account_id
from workflows.engine.errors import InputRejected
from workflows.engine.files.rules import read_message_rules
from workflows.engine.language.document import Document, Json
from workflows.engine.language.problems import Problem
from workflows.engine.language.start_form import FILE_FIELDS, Field, find_start, list_fields
from workflows.errors import FileRefused
from workflows.files.records import list_file_ids
from workflows.files.values import build_remote_value, build_value, find_id
from workflows.models import StoredFile
from workflows.models.run import Run


MAX_URL: Final = 2_000


def resolve_inputs(
    principal: Principal,
    subject: str,
    document: Document,
    inputs: Mapping[str, Json],
    root: str | None = None,
) -> dict[str, Json]:
    """Return the inputs with stored files in the fields for files. Raises InputRejected with every field at fault."""
    start = find_start(document, root)
    fields = [field for field in (list_fields(start) if start else ()) if _is_of_files(field)]
    values, problems = dict(inputs), []
    for field in fields:
        try:
            values |= _resolve_field(principal, subject, field, inputs)
        except FileRefused as refused:
            message = f"{field.title} in input form: {refused}"
            problems.append(Problem("input.invalid", message, field=field.name))
    if problems:
        raise InputRejected(problems)
    return values


def resolve_message_files(
    principal: Principal, subject: str, document: Document, files: Sequence[Json]
) -> list[Json]:
    """Return the files of a message (``sys.files``). Raises FileRefused if the workflow doesn't accept them."""
    if not files:
        return []
    rules = read_message_rules(document.features)
    if rules is None:
        raise FileRefused(_("This workflow takes no files with a message."), field="files")
    try:
        values = [_resolve_file(principal, subject, file) for file in files]
    except FileRefused as refused:
        raise type(refused)(str(refused), field="files") from None  # one that is too large, too
    if error := rules.find_list_error(values):
        raise FileRefused(error, field="files")
    return [*values]


def attach_files(principal: Principal, run: Run) -> None:
    """Note the run at its own files in its inputs, which are kept as long as one of their runs.

    A file that is used for the first time then belongs to the person that the run is for, as a test person's does.
    """
    ids = list_file_ids([run.inputs, run.system.get("files", [])])
    if not ids:
        return
    rows = _list_own(principal, run.subject).filter(team_id=run.team_id, pk__in=ids)
    for file in rows.select_for_update(of=("self",)).order_by("pk"):
        if not file.run_ids:
            file.subject, file.subject_user_id = run.subject, run.subject_user_id
        if run.pk not in file.run_ids:
            file.run_ids = [*file.run_ids, run.pk]
        file.expires_at = None
        file.save(update_fields=["run_ids", "expires_at", "subject", "subject_user"])


def _is_of_files(field: Field) -> bool:
    return field.type in FILE_FIELDS


def _resolve_field(
    principal: Principal, subject: str, field: Field, inputs: Mapping[str, Json]
) -> dict[str, Any]:
    value = inputs.get(field.name)
    if value is None or value == "":
        return {}
    if field.type == "file":
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return {field.name: _resolve_file(principal, subject, value)}
    if not isinstance(value, list):
        value = [value]
    return {field.name: [_resolve_file(principal, subject, item) for item in value]}


def _resolve_file(principal: Principal, subject: str, file: Json) -> dict[str, Json]:
    """Return the value for a file: an id, or an object that names an id or an address."""
    reference: Mapping[str, Json] = file if isinstance(file, Mapping) else {"id": file}
    url = reference.get("url") or reference.get("remote_url")
    if reference.get("transfer_method") == "remote_url" and find_id(reference) is None:
        return build_remote_value(_check_url(url), str(reference.get("type") or ""))
    file_id = find_id(reference)
    stored = _list_own(principal, subject).filter(pk=file_id).first() if file_id else None
    if stored is None:
        raise FileRefused(_("There is no such file. Upload it first, and send its id."))
    return build_value(stored)


def _list_own(principal: Principal, subject: str) -> "QuerySet[StoredFile]":
    """Return the files that the principal may use for a person: its own that are this person's, or nobody's yet."""
    rows = StoredFile.objects.visible_to(principal)
    if principal.kind != "key":
        return rows
    own_subject = make_service_subject(get_service_account_id(principal) or UUID(int=0))
    return rows.filter(Q(subject=subject) | Q(subject=own_subject, run_ids=[]))


def _check_url(url: Json) -> str:
    text = url.strip() if isinstance(url, str) else ""
    try:
        parts = urlsplit(text)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_valid = False
    if not is_valid or len(text) > MAX_URL or any(character <= " " for character in text):
        raise FileRefused(_("The address of a file must start with http:// or https://."))
    return text
