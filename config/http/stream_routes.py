"""Finds the views of event streams by their routes, without trying the hundreds of routes before them.

Django tries one route after the other, which takes most of a millisecond: a second for a thousand clients that reconnect.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.urls import Resolver404, ResolverMatch, resolve
from django.urls.resolvers import RoutePattern

from config.http.event_streams import OpenTogether, find_opener


class StreamMatch(NamedTuple):
    """The route of event streams that a path has: how they are opened together, and the arguments in the path."""

    open_together: OpenTogether
    arguments: Mapping[str, Any]
    resolved: ResolverMatch | None = None  # if the path was resolved to find the route


class StreamRoutes:
    """The routes of event streams that have been requested before."""

    def __init__(self) -> None:
        self._known: list[tuple[RoutePattern, OpenTogether]] = []

    def find(self, path: str) -> StreamMatch | ResolverMatch | None:
        """Return the match of a path with a stream or with another view, or None if there is no view."""
        for pattern, open_together in self._known:
            if values := pattern.match(path.removeprefix("/")):
                return StreamMatch(open_together, values[2])
        try:
            match = resolve(path)
        except Resolver404:
            return None  # the chain responds with the 404 page
        opener = find_opener(match.func)
        if opener is None:
            return match
        self._known.append((RoutePattern(match.route, is_endpoint=True), opener))
        return StreamMatch(opener, match.kwargs, match)
