"""Tells the client that a call goes on. Clients that ask for it don't give the call up while they are told."""

from dataclasses import dataclass, field

from mcp.server.session import ServerSession


@dataclass
class Progress:
    """Sends the progress of one call, if the client asked for it. Each report counts one more than the last."""

    session: ServerSession
    _count: int = field(default=0, init=False)

    async def report(self, message: str | None = None) -> None:
        self._count += 1
        await self.session.report_progress(self._count, message=message)
