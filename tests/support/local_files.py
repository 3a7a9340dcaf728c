"""An implementation of the file port: contents in a dictionary."""

import hashlib
from collections.abc import Mapping
from pathlib import PurePosixPath

from workflows.engine.errors import FileUnavailable
from workflows.engine.files.ports import MAX_FILE_BYTES, NewFile
from workflows.engine.language.document import Json
from workflows.engine.language.values import FILE_MARKER, get_file_attribute


class LocalFiles:
    """Implements ``engine.files.ports.FilePort``. An id is made from the content, so equal files have equal ids."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def add(
        self, content: bytes, name: str, *, kind: str = "document", mime_type: str = ""
    ) -> dict[str, Json]:
        """Add a file as an upload does, and return it as a value."""
        file_id = hashlib.sha256(content + name.encode()).hexdigest()[:32]
        self.contents[file_id] = content
        return {
            "dify_model_identity": FILE_MARKER,
            "id": file_id,
            "type": kind,
            "transfer_method": "local_file",
            "remote_url": None,
            "related_id": file_id,
            "filename": name,
            "name": name,
            "extension": PurePosixPath(name).suffix,
            "mime_type": mime_type or "application/octet-stream",
            "size": len(content),
            "url": f"/files/{file_id}/",
        }

    async def read(self, file: Mapping[str, Json], *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        content = self.contents.get(str(get_file_attribute(file, "related_id") or ""))
        if content is None:
            raise FileUnavailable("The file is not there")
        if len(content) > max_bytes:
            raise FileUnavailable(f"The file has more than {max_bytes // 1024**2} MB")
        return content

    async def store(self, new: NewFile) -> dict[str, Json]:
        return self.add(new.content, new.name)
