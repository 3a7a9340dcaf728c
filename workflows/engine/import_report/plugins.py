"""The plug-ins that came with a document: which of them are missed, which aren't, and which no node uses."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from workflows.engine.import_report.finders import shorten
from workflows.engine.import_report.report import Effect, Finding, Need
from workflows.engine.language.document import Document, Json
from workflows.engine.nodes.agent.tool_node.tool_choice import DIFY_TOOLS


_PLUGIN_KEYS: Final = (
    *("marketplace_plugin_unique_identifier", "plugin_unique_identifier"),
    *("github_plugin_unique_identifier", "repo"),
)
# In the data of nodes, a text under a key with one of these words may name a plug-in.
_NAMING_WORDS: Final = ("provider", "plugin")


def find_plugins(document: Document, missing: Iterable[Finding]) -> Iterator[Finding]:
    """Yield each plug-in that the document depends on, with the effect of what is missing of it.

    What a plug-in would provide may be here without it: a connected provider, a built-in tool.
    """
    dependencies = [*list_dependencies(document)]
    if not dependencies:
        return
    missing_by_name: dict[str, list[Finding]] = {}
    for finding in missing:
        for provider in list_providers(finding):
            for name in _list_sources(provider):
                missing_by_name.setdefault(name, []).append(finding)
    users = _list_users(document)
    for plugin, version in dependencies:
        names = (*list_spellings(plugin), plugin.lower())
        lacking = next(filter(None, map(missing_by_name.get, names)), [])
        nodes = dict.fromkeys(node for finding in lacking for node in finding.nodes)
        nodes = nodes or dict.fromkeys(node for name in names for node in users.get(name, ()))
        effect = lacking[0].effect if lacking else Effect.WORKS if nodes else Effect.UNUSED
        yield Finding(Need.PLUGIN, plugin, effect, tuple(nodes), detail=version)


def list_dependencies(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the name and the version of each plug-in that the document depends on."""
    dependencies = document.extra.get("dependencies")
    for dependency in dependencies if isinstance(dependencies, list | tuple) else ():
        value = dependency.get("value") if isinstance(dependency, Mapping) else None
        if not isinstance(value, Mapping):
            continue
        texts = (value.get(key) for key in _PLUGIN_KEYS)
        identifier = next((text for text in texts if isinstance(text, str) and text), "")
        if identifier:
            name, _separator, version = identifier.partition("@")[0].partition(":")
            yield name, version


def list_providers(finding: Finding) -> tuple[str, ...]:
    """Return the names of the providers that bring what a finding is about.

    A tool of another product that is built in here has none in the graph, so that the providers of its name are meant.
    """
    if finding.provider:
        return (finding.provider,)
    if finding.need is Need.TOOL:
        return tuple(provider for provider, names in DIFY_TOOLS.items() if finding.name in names)
    return tuple(filter(None, [finding.detail.partition(",")[0]]))


def list_spellings(plugin: str) -> tuple[str, ...]:
    """Return the names of the providers that a plug-in may bring: ``tavily_tool`` brings ``tavily``, too."""
    name = shorten(plugin)
    return tuple(dict.fromkeys((name, name.removesuffix("_tool"))))


def is_from(provider: str, plugin: str) -> bool:
    """Return whether a plug-in brings a provider: ``langgenius/gemini`` brings ``langgenius/gemini/google``, too."""
    sources = _list_sources(provider)
    return plugin.lower() in sources or any(name in sources for name in list_spellings(plugin))


def _list_sources(provider: str) -> tuple[str, ...]:
    """Return the short name of a provider, and the plug-in that its path names."""
    plugin = provider.strip().lower().rpartition("/")[0]
    return tuple(filter(None, (shorten(provider), plugin)))


def _list_users(document: Document) -> dict[str, list[str]]:
    """Return the ids of the nodes that name a provider or a plug-in, by its short name."""
    users: dict[str, dict[str, None]] = {}
    for node in document.nodes:
        for text in _iter_names(node.data):
            identifier = text.partition("@")[0].partition(":")[0]
            for part in identifier.split("/"):
                users.setdefault(part.strip().lower(), {})[node.id] = None
    return {name: [*ids] for name, ids in users.items()}


def _iter_names(tree: Json) -> Iterator[str]:
    """Yield the texts that may name a provider or a plug-in. A stack instead of recursion bears any nesting."""
    values: list[Json] = [tree]
    while values:
        value = values.pop()
        if isinstance(value, list | tuple):
            values += value
        for key, item in value.items() if isinstance(value, Mapping) else ():
            if not isinstance(item, str):
                values.append(item)
            elif any(word in str(key) for word in _NAMING_WORDS):
                yield item
