"""Thirty-four hostile templates: none escapes, none is given over two seconds or takes 256 MB.

The control renders the escapes in a plain Jinja environment of this very process, to show that
they are real: there they read the canary.
"""

import asyncio
import os
from collections.abc import Iterator

import jinja2
import pytest

from tests.support.process_use import RunnerUse, measure_growth
from tests.workflows.sandbox.conftest import WALLS
from tests.workflows.sandbox.walls import take_turns
from workflows.engine.errors import TemplateFailed
from workflows.sandbox.pool import RunnerPool
from workflows.sandbox.templates import SECONDS, TemplatePool


CANARY = "canary-7f3a91c0de"
CANARY_NAME = "MNEMOFLOW_TEMPLATE_CANARY"

# Each tries to print the canary from the environment, or something it could be reached from.
ESCAPES = {
    "cycler globals": "{{ cycler.__init__.__globals__.os.environ }}",
    "joiner globals": "{{ joiner.__init__.__globals__.os.environ }}",
    "namespace globals": "{{ namespace.__init__.__globals__.os.environ }}",
    "lipsum globals": "{{ lipsum.__globals__['os'].environ }}",
    "self builtins": "{{ self.__init__.__globals__.__builtins__.__import__('os').environ }}",
    "subclass walk": "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    "{{ lipsum.__globals__.os.environ }}",
    "attr filter": "{{ lipsum|attr('__glo' ~ 'bals__')|attr('get')('os')|attr('environ') }}",
    "attr filter escapes": "{{ lipsum|attr('\\x5f\\x5fglobals\\x5f\\x5f')|attr('get')('os')|attr('environ') }}",
    "map attribute": "{{ [lipsum]|map(attribute='__globals__')|list }}",
    "format method": "{{ '{0.__globals__}'.format(lipsum) }}",
    "format by reference": "{% set f = '{0.__globals__}'.format %}{{ f(lipsum) }}",
    "format_map": "{{ '{a.__globals__}'.format_map({'a': lipsum}) }}",
    "format through map": "{{ ['{0.__globals__}']|map('format', lipsum)|list }}"
    "{{ lipsum.__globals__.os.environ }}",
    "macro code": "{% macro m() %}{% endmacro %}{{ m.__init__.__globals__ }}"
    "{{ lipsum.__globals__.os.environ }}",
    "undefined globals": "{{ nothing.__init__.__globals__.__builtins__.open('/proc/self/environ').read() }}",
}

EXHAUSTIONS = {
    "nested range": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "lipsum flood": "{% for a in range(9999) %}{% set x = lipsum(n=500) %}{% endfor %}",
    "string multiply": "{{ 'a' * 2000000000 }}",
    "list multiply": "{{ ([0] * 900000000)|length }}",
    "ljust": "{{ 'a'.ljust(2000000000)|length }}",
    "center": "{{ 'a'|center(2000000000)|length }}",
    "format width": "{{ '%2000000000d'|format(1)|length }}",
    "format method width": "{{ '{:2000000000}'.format(1)|length }}",
    "join": "{{ (['a' * 1000000] * 100000)|join|length }}",
    "doubling": "{% set ns = namespace(x='a' * 1000) %}{% for i in range(40) %}"
    "{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x|length }}",
    "batch": "{{ [1]|batch(900000000, 0)|list|length }}",
    "slice": "{{ [1]|slice(900000000)|list|length }}",
    "wide indent": "{{ text|indent(1000000) }}{{ ('a\\n' * 90000)|indent(1000000) }}",
    "indent": "{{ ('\\n' * 100000)|indent(20000, true, true)|length }}",
    "power": "{{ 9 ** (9 ** 9) }}",
    "int to string": "{{ (7 ** 9999999)|string|length }}",
    "macro recursion": "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    "recursive loop": "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "deep parentheses": "{{ " + "(" * 25000 + "1" + ")" * 25000 + " }}",
    "output flood": "{% for a in range(99999) %}{% for b in range(999) %}aaaaaaaaaa{% endfor %}{% endfor %}",
}


HURRIED_SECONDS = 0.2  # for what runs until it is ended


@pytest.fixture(scope="module")
def templates(walls_around: str) -> Iterator[TemplatePool]:
    os.environ[CANARY_NAME] = CANARY
    pool = TemplatePool(RunnerPool(1))
    asyncio.run(pool.pool.warm())
    yield pool
    pool.close()
    del os.environ[CANARY_NAME]


def outcome(templates: TemplatePool, template: str) -> str:
    try:
        return asyncio.run(templates.render(template, {"x": {"y": "z"}}))
    except TemplateFailed as failed:
        return f"refused: {failed.message}"


def test_corpus_has_its_size() -> None:
    assert (len(ESCAPES), len(EXHAUSTIONS)) == (15, 20)


@pytest.mark.parametrize("name", ESCAPES)
def test_escape_reaches_nothing(templates: TemplatePool, name: str) -> None:
    text = outcome(templates, ESCAPES[name])

    assert CANARY not in text
    assert CANARY_NAME not in text
    for sign in ("<module", "<class", "environ(", "__builtins__", "<function", "/proc"):
        assert sign not in text.replace("'/proc/self/environ'", "")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_control_the_escapes_work_where_nothing_stops_them(templates: TemplatePool) -> None:
    through = []
    for name, template in ESCAPES.items():
        try:
            text = jinja2.Environment(autoescape=False).from_string(template).render()
        except Exception:
            continue
        if CANARY in text or "<module" in text:
            through.append(name)

    assert len(through) >= 10, through


@pytest.mark.parametrize(
    ("walls_around", "name"), take_turns(WALLS, EXHAUSTIONS), indirect=["walls_around"]
)
def test_exhaustion_ends_in_time_and_memory_and_the_caller_is_unharmed(
    walls_around: str, templates: TemplatePool, name: str, time_limits: list[float]
) -> None:
    asyncio.run(templates.pool.warm())
    hurried = TemplatePool(templates.pool, seconds=HURRIED_SECONDS)
    with measure_growth() as growth, RunnerUse(templates.pool) as use:
        text = outcome(hurried, EXHAUSTIONS[name])

    assert text.startswith("refused: "), text[:80]
    assert set(time_limits) == {HURRIED_SECONDS}
    assert use.kilobytes <= 256 * 1024
    assert growth.kilobytes < 20 * 1024
    assert outcome(templates, "{% if true %}{{ x.y }}{% endif %}") == "z"


def test_template_is_given_less_than_two_seconds(
    templates: TemplatePool, time_limits: list[float]
) -> None:
    assert outcome(templates, "{% if true %}{{ x.y }}{% endif %}") == "z"

    assert set(time_limits) == {SECONDS}
    assert SECONDS < 2
