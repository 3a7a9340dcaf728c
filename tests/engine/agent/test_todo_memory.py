"""The memory of the workflow in the todo loop: replies are stored in it, and each todo recalls what is relevant to it."""

from collections.abc import Mapping
from typing import Any

from memory.core.errors import NotAdmitted
from memory.core.records import MemoryQuery
from memory.providers.in_memory import InMemoryProvider
from tests.engine.agent.scripted import ScriptedModel, Tools, answer_wait, collect
from tests.engine.agent.test_todo import build
from tests.engine.agent.test_todo import step as report
from workflows.engine.runtime.runner import RunHandle, WorkflowRunner
from workflows.engine.runtime.step_records import RunStatus


MEMORY = {"enabled": True, "scope": "workflow", "query_selector": ["start", "q"]}
SYSTEM = {"workflow_names": ["chat", "desktop"], "group_id": "group", "user_id": "u"}
STREAM = "ai:memory:chat-desktop:group"
QUESTION = "请告诉我表格的具体内容"
REPLY = "3行3列，表头是姓名、年龄、城市，数据是张三25北京、李四30上海、王五28深圳"
STORED = f"问:“{QUESTION}” 用户回复: {REPLY}"
TODOS = "TODO列表:\n1. 询问用户\n2. 打开文件夹\n3. 检查表格内容"
SCRIPT = (TODOS, report("1", f"[询问用户:{QUESTION}]"), report("1"), report("1"), "完成。")


async def run_walk(
    provider: Any, script: Any = SCRIPT, system: Mapping[str, Any] = SYSTEM, **data: Any
) -> tuple[ScriptedModel, WorkflowRunner, RunHandle, Any]:
    model = ScriptedModel(*script)
    runner = build(model, Tools(), provider, **{"enhanced_memory": MEMORY, **data})
    handle = runner.start(inputs={"q": "帮我做一个表格"}, system=system)
    paused = await handle.result()
    if paused.status is RunStatus.PAUSED:
        handle, result = await answer_wait(runner, handle, "", answer=REPLY)
        return model, runner, handle, result
    return model, runner, handle, paused


def read_stream(provider: InMemoryProvider, stream: str = STREAM) -> list[Any]:
    return list(provider.recall(MemoryQuery(stream)))


async def test_reply_is_stored_in_the_stream_and_recalled_for_the_todo_that_needs_it() -> None:
    provider = InMemoryProvider()

    model, _runner, handle, result = await run_walk(provider)

    assert result.status is RunStatus.SUCCEEDED, result.error
    [entry] = read_stream(provider)
    assert entry.value == STORED
    assert (entry.metadata["question"], entry.metadata["origin"]) == (QUESTION, "person")
    assert (entry.source.run_id, entry.source.node_id) == (handle.run_id, "agent")
    prompts = [request.messages[-1].text for request in model.requests]
    # The results of earlier steps hold the reply as well; here it counts that memory does.
    recalled = f"[Memory Context]\n- {entry.key}: {STORED}"
    assert [recalled in prompt for prompt in prompts[1:4]] == [False, False, True]
    [event] = [e for e in await collect(handle, "memory_recalled") if e.entries]
    assert (event.query, event.injected) == ("检查表格内容", True)
    assert event.entries[0]["value"] == STORED


async def test_later_run_of_the_group_recalls_the_reply_and_another_group_does_not() -> None:
    provider = InMemoryProvider()
    await run_walk(provider)
    script = ("TODO列表:\n1. 检查表格内容", report("1"), "完成。")

    same, *_ = await run_walk(provider, script)
    other, *_ = await run_walk(provider, script, {**SYSTEM, "group_id": "other"})
    alone, *_ = await run_walk(provider, script, {**SYSTEM, "workflow_names": ["chat"]})

    assert STORED in str(same.requests[1].messages)
    assert STORED not in str(other.requests[1].messages)
    assert STORED not in str(alone.requests[1].messages)


async def test_agent_without_the_memory_of_its_workflow_stores_nothing() -> None:
    provider = InMemoryProvider()

    for memory in (None, {**MEMORY, "enabled": False}, {**MEMORY, "scope": "user"}):
        _model, _runner, _handle, result = await run_walk(provider, enhanced_memory=memory)
        assert result.status is RunStatus.SUCCEEDED, result.error

    assert read_stream(provider) == []


async def test_memory_that_refuses_the_reply_ends_nothing() -> None:
    class Refusing(InMemoryProvider):
        def store(self, params: Any) -> Any:
            if params.namespace == STREAM:
                raise NotAdmitted("a secret", reasons=("secret",))
            return super().store(params)

    provider = Refusing()

    _model, _runner, handle, result = await run_walk(provider)

    assert result.status is RunStatus.SUCCEEDED, result.error
    assert result.outputs["text"].strip() == "完成。"
    assert await collect(handle, "memory_kept_out")
