"""Files and workflows with fields for files."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.factories.workflows import make_workflow
from tests.support.cast import Person
from workflows.models import StoredFile, Workflow
from workflows.services.files.uploading import upload_file


PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30


def make_file(
    person: Person, content: bytes = b"hello", name: str = "a.txt", **more: Any
) -> StoredFile:
    upload = SimpleUploadedFile(name, content)
    return upload_file(person.principal, person.team.pk, upload, **more)


def file_document(
    mode: str = "workflow", *, output: str = "end", **variable: Any
) -> dict[str, Any]:
    """Return a Dify document with a field ``doc`` for a file, whose value is its output; a chat takes files, too."""
    field = {"variable": "doc", "label": "Document", "type": "file", "required": False, **variable}
    last = {
        "type": "end",
        "title": "End",
        "outputs": [{"variable": "doc", "value_selector": ["start", "doc"]}],
    }
    if mode == "advanced-chat":
        last = {"type": "answer", "title": "Answer", "answer": "{{#start.doc#}} {{#sys.files#}}"}
    upload = {"enabled": True, "allowed_file_types": ["image", "document"], "number_limits": 2}
    return {
        "version": "0.6.0",
        "kind": "app",
        "app": {"name": "Files", "mode": mode},
        "workflow": {
            "features": {"file_upload": upload} if mode == "advanced-chat" else {},
            "graph": {
                "nodes": [
                    {
                        "id": "start",
                        "data": {"type": "start", "title": "Start", "variables": [field]},
                    },
                    {"id": "last", "data": last},
                ],
                "edges": [{"id": "e", "source": "start", "target": "last"}],
            },
        },
    }


def make_file_workflow(person: Person, mode: str = "workflow", **variable: Any) -> Workflow:
    return make_workflow(person, "Files", file_document(mode, **variable))
