"""The engine's file port: the stored files of a run's person, and files on the web through the guarded client."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from accounts.request_transaction import pausable_tenant
from accounts.tenancy import tenant
from workflows.engine.errors import FileUnavailable, HttpFailed, NodeFailed
from workflows.engine.files.ports import MAX_FILE_BYTES, NewFile
from workflows.engine.language.document import Json
from workflows.engine.language.values import get_file_attribute
from workflows.engine.ports import HttpPort, HttpRequest
from workflows.errors import FileRefused
from workflows.execution.threads import run_in_thread
from workflows.files import contents
from workflows.files.records import Owner, create_file, find_file, list_with_parents
from workflows.files.values import build_value, find_id
from workflows.models import StoredFile


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Implements ``engine.files.ports.FilePort`` for one run.

    A file value may come from anywhere, such as a code node. Its id counts only if the file is the run's person's, and
    only the run's row says who that is.
    """

    team_id: UUID
    run_id: UUID
    row: Mapping[str, Json]
    http: HttpPort

    async def read(self, file: Mapping[str, Json], *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        file_id = find_id(file)
        if file_id is not None:
            return await run_in_thread(self._read, file_id, max_bytes)
        url = get_file_attribute(file, "url")
        if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
            raise FileUnavailable(f"The content of {_get_name(file)} can't be read")
        return await self._fetch(url, max_bytes)

    async def store(self, new: NewFile) -> dict[str, Json]:
        return await run_in_thread(self._store, new)

    def _read(self, file_id: UUID, max_bytes: int) -> bytes:
        with tenant([self.team_id]):
            file = find_file(Owner.of_run(self.team_id, self.row), file_id)
        if file is None:
            raise FileUnavailable(
                "The file is not there, or is not of the person that the run is for"
            )
        if file.size > max_bytes:
            raise FileUnavailable(f"{file.name} has more than {max_bytes // 1024**2} MB")
        try:
            return contents.read(file.path)
        except FileNotFoundError:
            raise FileUnavailable(f"The content of {file.name} is gone") from None
        except OSError as error:
            message = f"The content of {file.name} can't be read at the moment"
            raise FileUnavailable(message, retryable=True) from error

    def _store(self, new: NewFile) -> dict[str, Json]:
        owner = Owner.of_run(self.team_id, self.row)
        create = partial(create_file, owner, new.content, new.name)
        try:
            with pausable_tenant([self.team_id]):
                run_ids = list_with_parents(self.run_id)
                file = create(origin=StoredFile.Origin.STEP, run_ids=run_ids)
                return build_value(file)
        except FileRefused as refused:
            raise FileUnavailable(str(refused)) from None
        except OSError as error:
            raise FileUnavailable(
                "The file can't be stored at the moment", retryable=True
            ) from error

    async def _fetch(self, url: str, max_bytes: int) -> bytes:
        request = HttpRequest(
            "GET",
            url,
            timeout_seconds=60,
            idle_seconds=30,
            max_text_bytes=max_bytes,
            max_binary_bytes=max_bytes,
        )
        try:
            response = await self.http.send(request)
        except HttpFailed as failed:
            raise FileUnavailable(failed.message, retryable=failed.retryable) from None
        except NodeFailed as failed:
            raise FileUnavailable(failed.message) from None
        if not 200 <= response.status < 300:
            message = f"The address of the file answered with status {response.status}"
            raise FileUnavailable(message, retryable=response.status >= 500)
        return response.body


def _get_name(file: Mapping[str, Json]) -> str:
    return str(get_file_attribute(file, "name") or "the file")[:100]
