"""Fills values into a URL: what stands for the value of a parameter is encoded, so that it can't be anything else."""

import re
from typing import Final
from urllib.parse import quote

from workflows.engine.language.templating import Template
from workflows.engine.language.variables import MISSING, VariablePool
from workflows.engine.text_rendering import as_text


# The end of what is before the value of a parameter, or before the rest of the value.
_IN_PARAMETER: Final = re.compile(r"^[^#]*[?&][^?&#=]*=[^&#]*$")

_MAX_SOURCE: Final = 16_384  # no address is as long, and each reference looks back


def render_url(source: str, pool: VariablePool) -> str:
    """Return the URL with its references filled in.

    A value behind the ``=`` of a parameter is encoded. Other parts, such as an address or a whole query, are as they are.
    """
    template = Template.of(source)
    if len(source) > _MAX_SOURCE:
        return template.render_text(pool)
    parts: list[str] = []
    written = ""  # by the author, with a character for each reference
    for segment in template.segments:
        if isinstance(segment, str):
            parts.append(segment)
            written += segment
            continue
        value = pool.get(segment)
        text = ".".join(segment) if value is MISSING else as_text(value)
        parts.append(quote(text, safe="") if _IN_PARAMETER.search(written) else text)
        written += "x"
    return "".join(parts)
