"""Find the stored files that texts link to, so that pages show them in the place of the links."""

from collections.abc import Sequence
from uuid import UUID

from accounts.access import Principal
from workflows.files.links import LINK_IN_TEXT, find_linked_id
from workflows.files.shown import ShownFile, describe_row
from workflows.models import StoredFile


def load_linked_files(principal: Principal, texts: Sequence[str]) -> list[dict[UUID, ShownFile]]:
    """Return for each text the files of the principal that it links to, with one query if there are any links."""
    ids = [_list_ids(text) for text in texts]
    if not any(ids):
        return [{} for _text in texts]
    rows = StoredFile.objects.visible_to(principal).filter(pk__in=set().union(*ids))
    files = {file.pk: describe_row(file) for file in rows}
    return [{key: files[key] for key in each if key in files} for each in ids]


def _list_ids(text: str) -> set[UUID]:
    urls = (match["url"] for match in LINK_IN_TEXT.finditer(text))
    return {file_id for url in urls if (file_id := find_linked_id(url)) is not None}
