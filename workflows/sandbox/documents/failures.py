"""The reasons for which a document is refused before, or while, it is read."""


class Unreadable(Exception):
    """The document can't be read. ``kind`` is one that the parent has a sentence for."""

    def __init__(self, kind: str, message: str = "") -> None:
        super().__init__(message)
        self.kind = kind
