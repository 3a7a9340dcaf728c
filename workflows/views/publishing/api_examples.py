"""Examples of API calls of a published workflow in three languages, ready to run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import escape
from django.utils.translation import gettext as _

from config.http.context import get_base_url
from workflows.engine.language.document import Document, Json
from workflows.models import Workflow


TIMEOUT: Final = 60

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
with urllib.request.urlopen(request, timeout={timeout}) as response:
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

# The first command starts the run and reads its id; the second one prints its events.
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


def build_snippets(request: HttpRequest, workflow: Workflow, document: Document) -> list[Snippet]:
    """Return the examples with the workflow's URL and a request body that it accepts."""
    body = build_example_body(workflow, document)
    json_body = json.dumps(body, ensure_ascii=False)
    base_url = get_base_url(request)
    stream_body = json.dumps(body | {"response_mode": "async"}, ensure_ascii=False)
    values = {
        "url": f"{base_url}/api/v1/workflows/{workflow.pk}/runs",
        "base": base_url,
        "page": f"{base_url}{reverse('workflows:detail', args=[workflow.pk])}",
        "title": escape(workflow.name),
        "stream": stream_body.replace("'", "'\\''"),
        "json": json_body,
        "python": repr(body),
        "shell": json_body.replace("'", "'\\''"),
        "timeout": TIMEOUT + 10,
    }
    return [
        Snippet("curl", "curl", CURL.format(**values)),
        Snippet("python", "Python", PYTHON.format(**values)),
        Snippet("javascript", "JavaScript", JAVASCRIPT.format(**values)),
        Snippet("stream", _("Streaming (curl)"), STREAM.format(**values)),
        Snippet("frame", _("Embed diagram (HTML)"), FRAME.format(**values)),
    ]


def build_example_body(workflow: Workflow, document: Document) -> dict[str, Json]:
    """Return a request body that the workflow accepts: every required input has a value of its type."""
    inputs = {
        str(field["variable"]): _choose_value(field)
        for node in document.nodes
        if node.kind == "start" and not node.parent
        for field in node.data.get("variables") or []
        if isinstance(field, Mapping) and field.get("required") and field.get("variable")
    }
    query: dict[str, Json] = {"query": "Hello!"} if workflow.is_chat else {}
    return {**query, "inputs": inputs, "user": "ana", "response_mode": "blocking"}


def _choose_value(field: Mapping[str, Json]) -> Json:
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
