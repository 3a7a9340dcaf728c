"""Tells the client that a call goes on. Clients that ask for it don't give the call up while they are told."""

from dataclasses import dataclass, field

from mcp.server.session import ServerSession


@dataclass
class Progress:
    """Sends the progress of one call, if the client gave a token for it. Each report counts one more than the last."""

    session: ServerSession
    token: str | int | None
    request_id: str | int
    _count: int = field(default=0, init=False)

    async def report(self, message: str | None = None) -> None:
        if self.token is None:
            return
        self._count += 1
        await self.session.send_progress_notification(
            self.token, self._count, message=message, related_request_id=str(self.request_id)
        )
