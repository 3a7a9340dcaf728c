"""The commands of MCP servers that the operator allows teams to start on this machine."""

from collections.abc import Mapping
from typing import Final

from django.conf import settings


STDIO_SCHEME: Final = "stdio://"  # the URL of a connection is this and the name of a command


def list_commands() -> Mapping[str, str]:
    """Return the commands that the operator allows, by name."""
    pairs = (entry.partition("=") for entry in settings.MCP_STDIO_COMMANDS)
    return {name.strip(): command.strip() for name, _equals, command in pairs}
