"""The engine's ``TemplatePort``: Jinja2 templates, rendered in the runner pool."""

import json
from collections.abc import Mapping
from typing import Any, Final

from workflows.engine.errors import TemplateFailed
from workflows.engine.language.document import Json
from workflows.sandbox.frames import make_storable
from workflows.sandbox.lookups import substitute
from workflows.sandbox.pool import RunnerGone, RunnerLate, RunnerPool


MAX_TEMPLATE_BYTES: Final = 64 * 1024
MAX_OUTPUT_CHARACTERS: Final = 1_000_000
SECONDS: Final = 1.8  # with a restart of the runner, a call stays below the promised two seconds

_MESSAGES: Final = {
    "syntax": "The template has a syntax error in line {line}: {message}",
    "undefined": "The template uses something undefined: {message}",
    "security": "The template did something that is not allowed: {message}",
    "template": "The template could not be rendered: {message}",
    "memory": "The template used too much memory.",
    "recursion": "The template is nested too deeply.",
    "output": "The template's output is larger than 1 MB.",
    "other": "The template could not be rendered: {message}",
}


class TemplatePool:
    """Renders templates. It can be used from any event loop and thread; ``close()`` ends its processes."""

    def __init__(self, pool: RunnerPool | None = None, *, seconds: float = SECONDS) -> None:
        self.pool = pool or RunnerPool()
        self._seconds = seconds

    async def render(
        self, template: str, inputs: Mapping[str, Json], *, prints_json: bool = False
    ) -> str:
        """Render a template. Raises TemplateFailed with a message for the author of the template."""
        if len(template.encode("utf-8", "surrogatepass")) > MAX_TEMPLATE_BYTES:
            raise TemplateFailed("The template is larger than 64 kB.")
        quick = None if prints_json else substitute(template, inputs)
        if quick is not None:
            return _check_output(quick)
        return await self._render_in_runner(template, _check_inputs(inputs), prints_json)

    def close(self) -> None:
        self.pool.close()

    async def _render_in_runner(
        self, template: str, inputs: dict[str, Any], prints_json: bool = False
    ) -> str:
        message = {
            "job": "template",
            "template": template,
            "inputs": inputs,
            "prints_json": prints_json,
        }
        try:
            reply = await self.pool.call(message, seconds=self._seconds)
        except RunnerLate as error:
            raise TemplateFailed("The template took longer than two seconds.") from error
        except RunnerGone as error:
            raise TemplateFailed(
                "The template crashed its runner; it may use too much memory.", retryable=True
            ) from error
        except ValueError as error:
            raise TemplateFailed("The template's inputs are larger than 8 MB.") from error
        return _read_reply(reply)


def _check_inputs(inputs: Mapping[str, Json]) -> dict[str, Any]:
    """Return the inputs. Raises TemplateFailed unless they are JSON (no model instance, function or request)."""
    try:
        json.dumps(inputs := dict(inputs))
    except (TypeError, ValueError, RecursionError) as error:
        raise TemplateFailed("The template's inputs are not JSON.") from error
    return inputs


def _read_reply(reply: Mapping[str, Any]) -> str:
    """Return the text of a reply, which comes from a process that ran an untrusted template."""
    text = reply.get("text")
    if reply.get("ok") is True and isinstance(text, str):
        return _check_output(text)
    kind, message, line = reply.get("kind"), reply.get("message"), reply.get("line")
    sentence = _MESSAGES.get(kind if isinstance(kind, str) else "", _MESSAGES["other"])
    raise TemplateFailed(
        sentence.format(
            message=make_storable(message[:300]) if isinstance(message, str) else "",
            line=line if isinstance(line, int) else "?",
        )
    )


def _check_output(text: str) -> str:
    if len(text) > MAX_OUTPUT_CHARACTERS:
        raise TemplateFailed(_MESSAGES["output"])
    return make_storable(text)
