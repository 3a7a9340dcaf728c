"""Rendering as authors know it, whatever loop or thread asks, and whatever befell the last one."""

import asyncio
import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.steps import count_steps
from tests.support.waiting import LIMIT, until, until_async
from workflows.engine.errors import TemplateFailed
from workflows.sandbox.lookups import substitute
from workflows.sandbox.pool import RunnerPool
from workflows.sandbox.process import Runner
from workflows.sandbox.templates import MAX_TEMPLATE_BYTES, TemplatePool


@pytest.fixture(scope="module")
def templates() -> Iterator[TemplatePool]:
    pool = TemplatePool(RunnerPool(2))
    yield pool
    pool.close()


def render(templates: TemplatePool, template: str, **inputs: Any) -> str:
    return asyncio.run(templates.render(template, inputs))


def in_runner(templates: TemplatePool, template: str, **inputs: Any) -> str:
    """Past the shortcut for plain look-ups."""
    return asyncio.run(templates._render_in_runner(template, inputs))


RENDERED: list[tuple[str, dict[str, Any], str]] = [
    ("Hello {{ name }}", {"name": "Ana"}, "Hello Ana"),
    ("{{ missing }}|", {}, "|"),
    ("{{ none }}|{{ n }}", {"n": None}, "None|None"),
    ("{% for x in xs %}{{ loop.index }}{{ x }};{% endfor %}", {"xs": ["a", "b"]}, "1a;2b;"),
    ("{% if a and not b %}yes{% endif %}", {"a": 1, "b": ""}, "yes"),
    ("{{ user.name|upper }}", {"user": {"name": "ana"}}, "ANA"),
    ("{{ html }}", {"html": "<b>&</b>"}, "<b>&</b>"),  # text, not a page: no autoescape
    ("{{ d|tojson }}", {"d": {"a": [1, True]}}, '{"a": [1, true]}'),
    ("{{ 'a b c'|wordwrap(2) }}{{ [1]|random }}{{ [1]|pprint }}", {}, "a\nb\nc1[1]"),
    ("{{ 'https://a.example'|urlize|length > 10 }}", {}, "True"),
    ("{{ '<b>x</b> &amp; y'|striptags }}|{{ 'a\nb'|indent(2) }}", {}, "x & y|a\n  b"),
    ("{{ lipsum(1, false, 5, 6)|length > 10 }}", {}, "True"),
    ("{{ 'é' ~ '\\u4f60' }}", {}, "é你"),
    ("a\r\nb\n", {}, "a\nb"),
    ("{% set ns = namespace(n=0) %}{% for i in [2, 4] %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", {}, "6"),
]  # fmt: skip


@pytest.mark.parametrize(("template", "inputs", "expected"), RENDERED)
def test_template_renders_as_jinja(
    templates: TemplatePool, template: str, inputs: dict[str, Any], expected: str
) -> None:
    assert render(templates, template, **inputs) == expected
    assert in_runner(templates, template, **inputs) == expected


LOOKUPS: list[tuple[str, dict[str, Any]]] = [
    ("{{ a }} and {{b.c}}!", {"a": 1, "b": {"c": [1, "x", None]}}),
    ("{{ d }}", {"d": {"k": 1.5, "t": True}}),
    ("a\r\nb\rc\n\n{{ a }}\n", {"a": "x"}),
    ("}} plain %} #}", {}),
    ("{{a}}{{a}}", {"a": "{{ b }}"}),
    ("", {}),
    ("\n", {}),
    ("{{ a }}", {"a": False}),
    ("{{ a }}", {"a": 10**30}),
    ("{{ 名 }}", {"名": "x"}),
    ("{{ a.items }}", {"a": {"items": 3}}),
    ("{{ a.b }}", {"a": "text"}),
    ("{{ range }}", {"range": 3}),
    ("{{ loop }}", {"loop": 3}),
    ("{{ true }}", {"true": 3}),
    ("{{ a.b }}", {"a": {}}),
]


@pytest.mark.parametrize(("template", "inputs"), LOOKUPS)
def test_shortcut_says_what_jinja_says_or_nothing(
    templates: TemplatePool, template: str, inputs: dict[str, Any]
) -> None:
    quick = substitute(template, inputs)

    assert quick is None or quick == in_runner(templates, template, **inputs)


def test_shortcut_takes_plain_lookups() -> None:
    assert (
        substitute("Hi {{ user.name }}, {{ n }}.", {"user": {"name": "Ana"}, "n": 2})
        == "Hi Ana, 2."
    )


@pytest.mark.parametrize(
    ("template", "inputs", "sentence"),
    [
        ("a\n{% if %}", {}, "syntax error in line 2"),
        ("{{ a.b.c }}", {}, "'a' is undefined"),
        ("{{ 1 // 0 }}", {}, "ZeroDivisionError"),
        ("{{ ''.__class__ }}{{ ''.__class__.__mro__ }}", {}, "not allowed"),
        ("{{ 'x' * 2000000 }}", {}, "larger than 1 MB"),
        ("x" * (MAX_TEMPLATE_BYTES + 1), {}, "larger than 64 kB"),
        ("{% if 1 %}{{ x }}{% endif %}", {"x": "y" * 9_000_000}, "larger than 8 MB"),
        ("{% if 1 %}{{ x }}{% endif %}", {"x": object()}, "not JSON"),
    ],
)
def test_template_that_fails_says_why(
    templates: TemplatePool, template: str, inputs: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TemplateFailed, match=sentence) as failed:
        render(templates, template, **inputs)

    assert not failed.value.retryable


def test_output_that_cannot_be_stored_is_made_storable(templates: TemplatePool) -> None:
    assert render(templates, "{{ '\\x00' ~ '\\ud800' }}") == "\ufffd?"


def test_template_changes_nothing_for_the_next(templates: TemplatePool) -> None:
    pool = TemplatePool(RunnerPool(1))
    render(pool, "{% set x = 1 %}{% macro m() %}2{% endmacro %}{{ m() }}")

    assert render(pool, "{% if true %}{{ x }}{{ m }}{% endif %}") == ""
    pool.close()


def test_pool_serves_several_loops_and_threads_at_once(templates: TemplatePool) -> None:
    answers: list[list[str]] = []

    def work(name: str) -> None:
        async def many() -> list[str]:
            return await asyncio.gather(
                *(
                    templates.render("{% if 1 %}{{ n }}-{{ i }}{% endif %}", {"n": name, "i": i})
                    for i in range(25)
                )
            )

        answers.append(asyncio.run(many()))

    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == [[f"t{t}-{i}" for i in range(25)] for t in range(4)]
    assert len(templates.pool.list_pids()) <= templates.pool.size


def test_runner_killed_while_idle_is_replaced_unseen(templates: TemplatePool) -> None:
    render(templates, "{% if 1 %}a{% endif %}")
    for pid in templates.pool.list_pids():
        os.kill(pid, 9)

    assert render(templates, "{% if 1 %}b{% endif %}") == "b"


def test_runner_that_dies_after_it_was_looked_at_is_replaced_unseen(
    templates: TemplatePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process is seen as alive for a moment, in which it may be given a job."""
    render(templates, "{% if 1 %}a{% endif %}")
    for pid in templates.pool.list_pids():
        os.kill(pid, 9)
    looks = iter([True])
    monkeypatch.setattr(Runner, "is_alive", lambda _runner: next(looks, False))

    assert render(templates, "{% if 1 %}b{% endif %}") == "b"


def test_cancelled_render_does_not_disturb_the_next(jobs_taken: list[int]) -> None:
    templates = TemplatePool(RunnerPool(1), seconds=3600)
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"

    async def cancel_then_render() -> str:
        task = asyncio.create_task(templates.render(endless, {}))
        await until_async(lambda: jobs_taken)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(LIMIT):  # of the hour that the first would take
            return await templates.render("{% if 1 %}{{ x }}{% endif %}", {"x": "mine"})

    assert asyncio.run(cancel_then_render()) == "mine"
    templates.close()


def test_close_ends_every_process_and_the_pool_can_start_again() -> None:
    pool = TemplatePool(RunnerPool(2))
    render(pool, "{% if 1 %}a{% endif %}")
    pids = pool.pool.list_pids()

    pool.close()

    assert pids
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert render(pool, "{% if 1 %}b{% endif %}") == "b"
    pool.close()


def test_pool_used_on_both_sides_of_a_fork_mixes_nothing() -> None:
    """In a process of its own: a fork must take no thread of another test along, nor the locks that it holds."""
    ours, theirs, before, after = call_in_new_process(_render_on_both_sides)

    assert ours == [str(i) for i in range(20)]
    assert theirs == "child"
    assert before
    assert before <= after


def _render_on_both_sides(answer: Any) -> None:
    pool = TemplatePool(RunnerPool(2))
    render(pool, "{% if 1 %}warm{% endif %}")
    until(lambda: not pool.pool._is_starting)  # then the pool's threads do nothing
    before = set(pool.pool.list_pids())
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    child = context.Process(target=_render_in_fork, args=(pool, writing))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child.start()
    ours = [render(pool, "{% if 1 %}{{ i }}{% endif %}", i=i) for i in range(20)]
    theirs = reading.recv() if reading.poll(LIMIT) else "nothing"
    child.join(LIMIT)
    answer.put((ours, theirs, before, set(pool.pool.list_pids())))
    pool.close()


def _render_in_fork(pool: TemplatePool, answer: Any) -> None:
    answer.send(render(pool, "{% if 1 %}{{ who }}{% endif %}", who="child"))
    pool.close()


def test_pool_in_a_spawned_process_starts_its_own_runners() -> None:
    assert call_in_new_process(_spawned) == "spawned"


def _spawned(answer: Any) -> None:
    pool = TemplatePool(RunnerPool(1))
    answer.put(render(pool, "{% if 1 %}spawned{% endif %}"))
    pool.close()


def call_in_new_process(function: Callable[[Any], None]) -> Any:
    """Return what the function puts into its argument in a process that inherits nothing."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    child = context.Process(target=function, args=(answer,))
    child.start()
    try:
        return answer.get(timeout=LIMIT)
    finally:
        child.join(LIMIT)


def test_warm_render_is_one_message_to_a_runner_that_is_there(jobs_taken: list[int]) -> None:
    """How long that takes, ``bench/render.py`` measures."""
    templates = TemplatePool(RunnerPool(2))
    template = "{% for x in xs %}{{ loop.index }}. {{ x.name|title }}\n{% endfor %}"
    inputs = {"xs": [{"name": f"name {i}"} for i in range(20)]}

    async def render_often() -> None:
        for _ in range(40):
            await templates.render(template, inputs)

    render(templates, template, **inputs)
    until(lambda: len(templates.pool.list_pids()) == 2)  # the spare one is there, too
    there = set(templates.pool.list_pids())
    jobs_taken.clear()
    with count_steps(40 * 20_000):
        asyncio.run(render_often())

    assert len(jobs_taken) == 40
    assert set(jobs_taken) <= there == set(templates.pool.list_pids())
    templates.close()
