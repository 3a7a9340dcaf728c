"""What can be done with a workflow once it is published: the same call in three languages, ready to run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import escape
from django.utils.translation import gettext as _

from workflows.engine.language.document import Document, Json
from workflows.models import Workflow


SECONDS: Final = 60

CURL: Final = """curl -X POST {url} \\
  -H "Authorization: Bearer $MNEMOFLOW_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{shell}'"""

PYTHON: Final = """import json, urllib.request
from os import environ

request = urllib.request.Request(
    "{url}",
    data=json.dumps({python}).encode(),
    headers={{
        "Authorization": "Bearer " + environ["MNEMOFLOW_KEY"],
        "Content-Type": "application/json",
    }},
)
with urllib.request.urlopen(request, timeout={patience}) as response:
    print(json.load(response)["outputs"])"""

JAVASCRIPT: Final = """const response = await fetch("{url}", {{
  method: "POST",
  headers: {{
    Authorization: `Bearer ${{process.env.MNEMOFLOW_KEY}}`,
    "Content-Type": "application/json",
  }},
  body: JSON.stringify({json}),
}});
console.log((await response.json()).outputs);"""


# The first line starts it and reads its id; the second one prints what happens, as it happens.
STREAM: Final = """RUN=$(curl -s -X POST {url} \\
  -H "Authorization: Bearer $MNEMOFLOW_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{stream}' | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
curl -N {base}/api/v1/runs/$RUN/events -H "Authorization: Bearer $MNEMOFLOW_KEY\""""

FRAME: Final = """<iframe src="{page}?embed=1" title="{title}"
  width="100%" height="480" loading="lazy" style="border: 0"></iframe>"""


@dataclass(frozen=True, slots=True)
class Snippet:
    slug: str
    name: str
    text: str


def snippets_of(request: HttpRequest, workflow: Workflow, document: Document) -> list[Snippet]:
    body = example_of(workflow, document)
    written = json.dumps(body, ensure_ascii=False)
    base = base_url(request)
    streamed = json.dumps(body | {"response_mode": "async"}, ensure_ascii=False)
    values = {
        "url": f"{base}/api/v1/workflows/{workflow.pk}/runs",
        "base": base,
        "page": f"{base}{reverse('workflows:detail', args=[workflow.pk])}",
        "title": escape(workflow.name),
        "stream": streamed.replace("'", "'\\''"),
        "json": written,
        "python": repr(body),
        "shell": written.replace("'", "'\\''"),
        "patience": SECONDS + 10,
    }
    return [
        Snippet("curl", "curl", CURL.format(**values)),
        Snippet("python", "Python", PYTHON.format(**values)),
        Snippet("javascript", "JavaScript", JAVASCRIPT.format(**values)),
        Snippet("stream", _("Streaming (curl)"), STREAM.format(**values)),
        Snippet("frame", _("Embed diagram (HTML)"), FRAME.format(**values)),
    ]


def example_of(workflow: Workflow, document: Document) -> dict[str, Json]:
    """A body the workflow takes as it is: every required input has a value of its kind."""
    inputs = {
        str(field["variable"]): _value(field)
        for node in document.nodes
        if node.kind == "start" and not node.parent
        for field in node.data.get("variables") or []
        if isinstance(field, Mapping) and field.get("required") and field.get("variable")
    }
    said: dict[str, Json] = {"query": "Hello!"} if workflow.is_chat else {}
    return {**said, "inputs": inputs, "user": "ana", "response_mode": "blocking"}


def base_url(request: HttpRequest) -> str:
    return (settings.PUBLIC_URL or request.build_absolute_uri("/")).rstrip("/")


def _value(field: Mapping[str, Json]) -> Json:
    match field.get("type"):
        case "select":
            options = field.get("options") or [""]
            return options[0]
        case "number":
            return 1
        case "checkbox" | "boolean":
            return True
    label = str(field.get("label") or field.get("variable"))
    return label[: int(field.get("max_length") or len(label))]
