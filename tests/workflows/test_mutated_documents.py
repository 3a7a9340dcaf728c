"""Documents that were damaged at random, or left half-made, are read, checked, compiled and shown, or refused with a sentence.

Whatever a document says, nothing but the engine's own errors is raised, and no document takes long or much memory. Some of
the documents are the product's own; others are as people export them from Dify.
"""

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from cProfile import Profile
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from tests.support.half_made import build_half_made
from tests.support.mutants import DAMAGES, Tree, build_mutant, list_originals
from tests.support.process_use import measure_growth
from tests.support.processor_time import limit_cpu
from tests.workflows.panel_context import build_panel_context
from workflows.engine.errors import DocumentInvalid
from workflows.engine.language.document import Dialect, Document
from workflows.engine.language.dsl import export_document, load_document
from workflows.engine.language.dsl.loading import load_tree
from workflows.engine.language.memory_usage import list_memory_scopes
from workflows.engine.language.plan import compile_plan
from workflows.engine.language.problems import Problem, mark_unfinished_as_errors
from workflows.engine.language.validation import validate
from workflows.engine.language.validation.recalled_prompts import find_recalled_prompt_problems
from workflows.engine.nodes import KNOWN_KINDS
from workflows.execution.kinds import load_kinds
from workflows.forms import build_input_fields
from workflows.models.documents import from_json, to_json
from workflows.services.editor.mail_problems import find_mail_problems
from workflows.services.models.mappings import read_model
from workflows.templatetags.problems import describe_with_location, list_titles
from workflows.views.canvas.drawing import draw
from workflows.views.canvas.picture import build_picture
from workflows.views.catalog.workflow_page import get_opening, list_suggestions
from workflows.views.editor import outline, outline_page
from workflows.views.editor.search import search_document


MAX_CALLS = 2_000_000  # hardly a mutant makes more than a tenth of them
# A second is promised; hardly a mutant takes more than a tenth of it.
MAX_SECONDS = 2.0
MAX_KILOBYTES = 100_000
# As people of Dify export their apps: files, knowledge, agents, loops, plug-in tools, each with settings of forms.
EXPORTED = Path(__file__).with_name("exported")
# Documents of other people, where they lie beside the checkout. The largest are left out, which take a minute each.
BESIDE = Path(__file__).resolve().parents[2].parent / "shared"
FOLDERS = ("real-documents", "conformance", "cases")
MAX_BYTES = 40_000
MAX_PANELS = 4  # of a document; with more of them, the tests take too long


def examine(tree: Any, *, shown: bool = True) -> str:
    """Do with a document what an import, the editor and a run do with it, and return how it ended."""
    try:
        document = load_document(tree, confirm_newer=True).document
    except DocumentInvalid as invalid:
        return "refused" if invalid.problems else "refused without a reason"
    problems = validate(document, load_kinds())
    _write(document)
    if shown:
        _show(document, problems)
    try:
        compile_plan(document, load_kinds())
    except DocumentInvalid:
        return "invalid"
    return "invalid" if any(problem.is_error for problem in problems) else "valid"


def _write(document: Document) -> None:
    for dialect in Dialect:
        export_document(document, dialect, kinds=KNOWN_KINDS)
    stored = from_json(to_json(document))
    # A body is folded into its container, which changes the order of nodes once.
    assert sorted(node.id for node in stored.nodes) == sorted(node.id for node in document.nodes)
    assert from_json(to_json(stored)) == stored


def _show(document: Document, problems: list[Problem]) -> None:
    kinds = load_kinds()
    shown = mark_unfinished_as_errors(problems)
    titles = list_titles(document, kinds)
    for problem in shown:
        describe_with_location(problem, titles)
    draw(document, shown)
    build_picture(document, kinds)
    outline.build_rows(document, shown)
    search_document(document, "a")
    build_input_fields(document)
    list_memory_scopes(document, kinds)
    get_opening(document), list_suggestions(document)
    list(find_mail_problems(document)), list(find_recalled_prompt_problems(document, kinds))
    nodes = {node.id: node for node in document.nodes}
    for node in document.nodes[:MAX_PANELS]:
        read_model(node)
        render_to_string("inspector/_node.html", build_panel_context(document, nodes[node.id]))
        outline_page._build_node_context(nodes[node.id], document, nodes, {})


def list_all_originals() -> tuple[Tree, ...]:
    """Return the documents of the product and those that people made."""
    return (*list_originals(), *list_exported(), *list_beside())


@cache
def list_exported() -> tuple[Tree, ...]:
    return tuple(load_tree(path.read_bytes()) for path in sorted(EXPORTED.glob("*.yml")))


@cache
def list_beside() -> tuple[Tree, ...]:
    """Return the documents beside the checkout that are readable and not too large."""
    paths = sorted(path for name in FOLDERS for path in (BESIDE / name).rglob("*.yml"))
    texts = [path.read_text() for path in paths if path.stat().st_size < MAX_BYTES]
    return tuple(filter(None, map(_read_tree, texts)))


def damage_exported(seed: int, *, has_beside: bool = False) -> Tree:
    """Return a damaged document of people, which is always the same for the same documents."""
    chance = random.Random(seed)
    originals = (*list_exported(), *(list_beside() if has_beside else ()))
    tree = copy.deepcopy(chance.choice(originals))
    for _ in range(chance.choice((0, 1, 1, 2, 3, 6, 15))):
        chance.choice(DAMAGES)(tree, chance)
    return tree


def _read_tree(text: str) -> Tree | None:
    try:
        load_document(text, confirm_newer=True)
        return load_tree(text)
    except DocumentInvalid:
        return None


Limit = Callable[[], AbstractContextManager[object]]
Build = Callable[[int], Tree]


def _examine_all(
    seeds: range,
    *,
    shown_every: int,
    limit: Limit,
    build: Build = build_mutant,
    expected: Sequence[str] = ("refused", "invalid", "valid"),
) -> None:
    """Examine many mutants. Their limits are on work and on the growth of the process, with the caches already warm."""
    reverse("workflows:list")  # imports every view
    examine(list_originals()[0])
    endings: Counter[str] = Counter()
    for seed in seeds:
        tree = build(seed)
        try:
            with limit(), measure_growth() as growth:
                endings[examine(tree, shown=seed % shown_every == 0)] += 1
        except Exception as error:
            raise AssertionError(f"Mutant {seed} raised {error!r}") from error
        assert growth.kilobytes < MAX_KILOBYTES, f"Mutant {seed} is too large"
    assert set(endings) == {*expected}
    assert min(endings.values()) > len(seeds) / 20  # the damage is neither too small nor too large


@contextmanager
def limit_calls() -> Iterator[None]:
    """Fail if the block calls more Python functions than even a long document needs."""
    profile = Profile(builtins=False)
    with profile:
        yield
    count = sum(entry.callcount for entry in profile.getstats())
    assert count < MAX_CALLS, f"{count} calls"


def test_mutated_documents_raise_only_the_engines_errors_and_are_quick():
    _examine_all(range(80), shown_every=16, limit=limit_calls)


def test_mutated_exports_raise_only_the_engines_errors_and_are_quick():
    _examine_all(range(120), shown_every=20, limit=limit_calls, build=damage_exported)


def test_half_made_documents_open_with_every_panel():
    for seed in range(20):
        assert examine(build_half_made(seed)) in ("invalid", "valid"), seed


@pytest.mark.timed
def test_mutated_documents_take_no_long_single_calls():
    """A regular expression is one call, however long it takes."""
    _examine_all(range(200), shown_every=25, limit=partial(limit_cpu, MAX_SECONDS))


@pytest.mark.nightly
@pytest.mark.parametrize("first", [0, *range(10_000, 20_000, 1_000)])
def test_many_mutated_documents_raise_only_the_engines_errors_and_are_quick(first: int):
    _examine_all(range(first, first + 1_000), shown_every=5, limit=limit_calls)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 10_000, 1_000))
def test_many_mutated_exports_raise_only_the_engines_errors_and_are_quick(first: int):
    build = partial(damage_exported, has_beside=True)
    _examine_all(range(first, first + 1_000), shown_every=5, limit=limit_calls, build=build)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, 10_000, 500))
def test_many_half_made_documents_open_with_every_panel(first: int):
    _examine_all(
        range(first, first + 500),
        shown_every=1,
        limit=limit_calls,
        build=partial(build_half_made, originals=list_all_originals()),
        expected=("invalid", "valid"),
    )
