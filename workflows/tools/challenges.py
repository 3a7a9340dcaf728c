"""What servers answer whose tools need a person to sign in first."""

from dataclasses import dataclass

from workflows.engine.errors import ToolFailed


@dataclass(frozen=True, slots=True)
class Challenge:
    """Says how to sign in (RFC 9728): where the server describes itself, and the permissions that it wants."""

    metadata_url: str = ""
    scope: str = ""
    # A token was accepted, but it doesn't give the permission for this request.
    lacks_scope: bool = False


class SignInNeeded(ToolFailed):
    """The server wants somebody to sign in."""

    def __init__(self, challenge: Challenge) -> None:
        self.challenge = challenge
        super().__init__("The MCP server wants a person to sign in")


class SignInEnded(ToolFailed):
    """The authorization server takes the tokens of a sign-in no more."""


class ClientNeeded(ToolFailed):
    """The authorization server registers no clients by itself."""
