"""Fills values into a URL: what stands for the value of a parameter is encoded, so that it can't be anything else."""

from urllib.parse import quote

from workflows.engine.language.templating import Template
from workflows.engine.language.variables import MISSING, VariablePool
from workflows.engine.text_rendering import as_text


def render_url(source: str, pool: VariablePool) -> str:
    """Return the URL with its references filled in.

    A value behind the ``=`` of a parameter is encoded. Other parts, such as an address or a whole query, are as they are.
    """
    parts: list[str] = []
    written = ""  # by the author, with a character for each reference
    for segment in Template.of(source).segments:
        if isinstance(segment, str):
            parts.append(segment)
            written += segment
            continue
        value = pool.get(segment)
        text = ".".join(segment) if value is MISSING else as_text(value)
        parts.append(quote(text, safe="") if _is_in_parameter(written) else text)
        written += "x"
    return "".join(parts)


def _is_in_parameter(written: str) -> bool:
    """Return whether the value of a parameter of the query has begun and not ended."""
    _address, _mark, query = written.partition("?")
    if not query or "#" in written:
        return False
    return "=" in query.rpartition("&")[2]
