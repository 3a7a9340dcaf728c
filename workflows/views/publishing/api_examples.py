"""Examples of API calls of a published workflow in three languages, ready to run."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import escape
from django.utils.translation import gettext as _

from config.http.context import get_base_url
from workflows.engine.language.document import Document, Json
from workflows.engine.language.start_form import list_form_variables
from workflows.engine.text_rendering import as_text
from workflows.models import Workflow


TIMEOUT: Final = 60

# Uploads a file and keeps its id for the request.
UPLOAD: Final = """{variable}=$(curl -s {base}/api/v1/files \\
  -H "Authorization: Bearer $MNEMOFLOW_KEY" \\
  -F user=ana -F file=@{name} | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
"""

CURL: Final = """{uploads}curl -X POST {url} \\
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
STREAM: Final = """{uploads}RUN=$(curl -s -X POST {url} \\
  -H "Authorization: Bearer $MNEMOFLOW_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{stream}' | python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
curl -N {base}/api/v1/runs/$RUN/events -H "Authorization: Bearer $MNEMOFLOW_KEY\""""

OPENAI: Final = """from os import environ
from openai import OpenAI

client = OpenAI(base_url="{base}/openai/v1", api_key=environ["MNEMOFLOW_KEY"])
completion = client.chat.completions.create(
    model={model},
    messages=[{{"role": "user", "content": "Hello!"}}],
    user="ana",{extra}
)
print(completion.choices[0].message.content)"""

DIFY: Final = """{uploads}curl -X POST {base}/v1/{dify_path} \\
  -H "Authorization: Bearer $MNEMOFLOW_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{shell}'"""

# These files are read by many programs, each with a syntax of its own for variables, if any: the key itself is pasted.
MCP: Final = """{{
  "mcpServers": {{
    "mnemoflow": {{
      "type": "http",
      "url": "{base}/mcp/?user=ana",
      "headers": {{"Authorization": "Bearer mf_…"}}
    }}
  }}
}}"""

CLAUDE_CODE: Final = """claude mcp add --transport http mnemoflow "{base}/mcp/?user=ana" \\
  --header "Authorization: Bearer $MNEMOFLOW_KEY\""""

CODEX: Final = """[mcp_servers.mnemoflow]
url = "{base}/mcp/?user=ana"
bearer_token_env_var = "MNEMOFLOW_KEY\""""

FRAME: Final = """<iframe src="{page}?embed=1" title="{title}"
  width="100%" height="480" loading="lazy" style="border: 0"></iframe>"""

# The names of files in the examples, by the type that a field accepts first.
FILE_NAMES: Final = {"image": "photo.png", "audio": "talk.mp3", "video": "film.mp4"}


@dataclass(frozen=True, slots=True)
class Snippet:
    slug: str
    name: str
    text: str


def list_addresses(request: HttpRequest, workflow: Workflow) -> list[Snippet]:
    """Return what programs with a form for their settings ask for: each as a value of its own to copy."""
    base_url = get_base_url(request)
    return [
        Snippet("openai-url", _("OpenAI base URL"), f"{base_url}/openai/v1"),
        Snippet("openai-model", _("OpenAI model"), workflow.slug),
        Snippet("dify-url", _("Dify base URL"), f"{base_url}/v1"),
        Snippet("mcp-url", _("MCP address"), f"{base_url}/mcp/"),
    ]


def build_snippets(request: HttpRequest, workflow: Workflow, document: Document) -> list[Snippet]:
    """Return the examples with the workflow's URL and a request body that it accepts."""
    body = build_example_body(workflow, document)
    json_body = json.dumps(body, ensure_ascii=False)
    base_url = get_base_url(request)
    stream_body = json.dumps(body | {"response_mode": "async"}, ensure_ascii=False)
    files = {
        str(field["variable"]): field
        for field in _list_required_fields(document)
        if field.get("type") in _FILE_TYPES
    }
    values = {
        "uploads": "".join(
            UPLOAD.format(variable=name.upper(), base=base_url, name=_choose_file_name(field))
            for name, field in files.items()
        ),
        "url": f"{base_url}/api/v1/workflows/{workflow.pk}/runs",
        "base": base_url,
        "page": f"{base_url}{reverse('workflows:detail', args=[workflow.pk])}",
        "title": escape(workflow.name),
        "stream": _quote_for_shell(stream_body, files),
        "json": json_body,
        "python": repr(body),
        "shell": _quote_for_shell(json_body, files),
        "timeout": TIMEOUT + 10,
        "model": json.dumps(workflow.slug, ensure_ascii=False),
        "extra": _format_extra(body),
        "dify_path": "chat-messages" if workflow.is_chat else "workflows/run",
    }
    return [
        Snippet("curl", "curl", CURL.format(**values)),
        Snippet("python", "Python", PYTHON.format(**values)),
        Snippet("javascript", "JavaScript", JAVASCRIPT.format(**values)),
        Snippet("stream", _("Streaming (curl)"), STREAM.format(**values)),
        Snippet("openai", _("OpenAI clients"), OPENAI.format(**values)),
        Snippet("dify", _("Dify clients"), DIFY.format(**values)),
        Snippet("mcp", _("MCP clients"), MCP.format(**values)),
        Snippet("claude-code", "Claude Code", CLAUDE_CODE.format(**values)),
        Snippet("codex", "Codex", CODEX.format(**values)),
        Snippet("frame", _("Embed diagram (HTML)"), FRAME.format(**values)),
    ]


def build_example_body(workflow: Workflow, document: Document) -> dict[str, Json]:
    """Return a request body that the workflow accepts: every required input has a value of its type."""
    inputs = {
        str(field["variable"]): _choose_value(field) for field in _list_required_fields(document)
    }
    query: dict[str, Json] = {"query": "Hello!"} if workflow.is_chat else {}
    return {**query, "inputs": inputs, "user": "ana", "response_mode": "blocking"}


def _format_extra(body: Mapping[str, Json]) -> str:
    """Return the argument with the inputs for OpenAI's client, which has no field for them, or nothing without any."""
    if not body["inputs"]:
        return ""
    metadata = {f"inputs.{name}": as_text(value) for name, value in body["inputs"].items()}
    return f"\n    metadata={metadata!r},"


def _list_required_fields(document: Document) -> list[Mapping[str, Json]]:
    return [
        field
        for field in list_form_variables(document)
        if field.get("required") and field.get("variable")
    ]


def _quote_for_shell(body: str, files: Iterable[str]) -> str:
    """Return the body between single quotes, with the variables that hold the ids of uploaded files."""
    text = body.replace("'", "'\\''")
    for name in files:
        text = text.replace(f'"{_name_id(name)}"', f"\"'${name.upper()}'\"")
    return text


def _name_id(variable: str) -> str:
    return f"ID_OF_{variable.upper()}"


def _choose_file_name(field: Mapping[str, Json]) -> str:
    types = field.get("allowed_file_types")
    first = types[0] if isinstance(types, list | tuple) and types else "document"
    return FILE_NAMES.get(str(first), "report.pdf")


_FILE_TYPES: Final = frozenset({"file", "file-list"})


def _choose_value(field: Mapping[str, Json]) -> Json:
    match field.get("type"):
        case "file":
            return _name_id(str(field["variable"]))
        case "file-list":
            return [_name_id(str(field["variable"]))]
        case "json_object" | "object":
            return {}
        case str(type_name) if type_name.startswith("array"):
            return []
        case "select":
            options = field.get("options") or [""]
            return options[0]
        case "number":
            return 1
        case "checkbox" | "boolean":
            return True
    label = str(field.get("label") or field.get("variable"))
    return label[: int(field.get("max_length") or len(label))]
