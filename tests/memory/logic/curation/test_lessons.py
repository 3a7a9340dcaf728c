"""What is a lesson and what isn't, for the offline curator and for models, in English and Chinese."""

import json

import pytest

from memory.logic.curation.curator import CurationResult, Curator, curate
from memory.logic.curation.extractive import ExtractiveCurator
from memory.logic.curation.lessons import DropReason, find_drop_reason, is_refusal
from memory.logic.curation.model_curator import ModelCurator
from memory.logic.curation.work import FinishedWork, WorkStatus
from memory.logic.judgement.judge import Judge
from tests.memory.logic.support import NAMESPACE, counting
from tests.support.cases import for_each


TOO_SHORT, SMALL_TALK, NOT_DONE = DropReason

LESSONS: list[tuple[str, DropReason | None]] = [
    # nothing but small talk
    ("ok", SMALL_TALK),
    ("OK.", SMALL_TALK),
    ("Ok, thanks!", SMALL_TALK),
    ("Done.", SMALL_TALK),
    ("Yes", SMALL_TALK),
    ("Great, got it", SMALL_TALK),
    ("Task completed successfully.", SMALL_TALK),
    ("The task was completed successfully", SMALL_TALK),
    ("Everything is fine.", SMALL_TALK),
    ("Nothing new", SMALL_TALK),
    ("No errors were found.", SMALL_TALK),
    ("Hello! Welcome!", SMALL_TALK),
    ("N/A", SMALL_TALK),
    ("", SMALL_TALK),
    ("…", SMALL_TALK),
    ("好的", SMALL_TALK),
    ("好的，谢谢！", SMALL_TALK),
    ("任务已完成。", SMALL_TALK),
    ("执行成功", SMALL_TALK),
    ("没有错误", SMALL_TALK),
    ("嗯嗯", SMALL_TALK),
    ("你好", SMALL_TALK),
    # too little
    ("sort", TOO_SHORT),
    ("42", TOO_SHORT),
    ("Rust!", TOO_SHORT),
    ("排序", TOO_SHORT),
    ("缓存", TOO_SHORT),
    # the model could not do it
    ("I'm sorry, but I can't help with that.", NOT_DONE),
    ("Sorry, I cannot access the internet.", NOT_DONE),
    ("I am unable to open files.", NOT_DONE),
    ("I don't have access to your calendar", NOT_DONE),
    ("I don’t know.", NOT_DONE),
    ("As an AI language model, I cannot browse the web.", NOT_DONE),
    ("Unfortunately, I could not find the document.", NOT_DONE),
    ("The assistant cannot access the internet", NOT_DONE),
    ("The model was unable to complete the task.", NOT_DONE),
    ("抱歉，我无法完成这个任务。", NOT_DONE),
    ("对不起，我没有权限访问该文件", NOT_DONE),
    ("作为一个AI语言模型，我不能浏览网页", NOT_DONE),
    ("我不知道答案是什么", NOT_DONE),
    ("模型未能完成任务", NOT_DONE),
    # lessons
    ("Quick sort needs a good pivot", None),
    ("Use pnpm.", None),
    ("No index is needed for small tables", None),
    ("Good pivots are random", None),
    ("OK is the status of a healthy service", None),
    ("Yes/no questions need no model", None),
    ("We cannot ship before Friday", None),
    ("I can't eat peanuts", None),
    ("The system cannot handle more than 100 users", None),
    ("The server could not connect because port 5432 was closed", None),
    ("Done means merged and deployed", None),
    ("Hello World is printed by main.py", None),
    ("Sorry customers get a refund within 14 days", None),
    ("快速排序需要好的基准", None),
    ("使用缓存", None),
    ("完成任务前必须先运行测试", None),
    ("好的基准值是随机选取的", None),
    ("我不能吃花生", None),
    ("无法连接数据库是因为端口未开放", None),
    ("客户不能在周末付款", None),
]


@for_each("text, reason", LESSONS)
def test_text_is_a_lesson_or_dropped_with_a_reason(text: str, reason: DropReason | None):
    assert find_drop_reason(text) is reason


def test_refusal_is_short_and_comes_first():
    assert is_refusal("I'm sorry. I can't do that.")
    assert not is_refusal("The capital is Rome. I can't help loving it.")
    assert not is_refusal("I can't open it. " + "The file has 3 parts, described below. " * 30)


# -- end to end ------------------------------------------------------------------------------------


async def learn(
    work: FinishedWork, curator: Curator | None = None, judge: Judge | None = None
) -> CurationResult:
    curator = curator or ExtractiveCurator(judge)
    return await curate(work, curator, namespace=NAMESPACE, new_id=counting("u"), judge=judge)


class Model:
    """A model that proposes these lessons, and a count of its calls."""

    def __init__(self, *lessons: str, summary: str = "It sorted the list.") -> None:
        self.answer = json.dumps({"summary": summary, "key_learnings": lessons, "solutions": []})
        self.calls = 0

    async def __call__(self, prompt: str) -> str:
        self.calls += 1
        return self.answer

    @property
    def curator(self) -> ModelCurator:
        return ModelCurator(self, "scripted")


def list_kinds(result: CurationResult) -> list[str]:
    return [draft.key.partition(":")[0] for draft in result.drafts]


@for_each("task", ["ok", "Thanks!", "好的", "hi"])
@for_each("is_offline", [True, False])
async def test_small_talk_teaches_nothing(task: str, is_offline: bool):
    model = Model("ok", "Noted.", summary=f"The user said {task}")
    work = FinishedWork(task, outputs=[task, "You're welcome!"])

    result = await learn(work, None if is_offline else model.curator)

    assert result.drafts == ()
    assert set(result.dropped) == {SMALL_TALK}


async def test_lesson_of_two_letters_is_dropped_and_the_others_stay():
    model = Model("ok", "sort", "Pivots should be random")

    result = await learn(FinishedWork("Sort the list", outputs=["sorted"]), model.curator)

    assert list_kinds(result) == ["task", "learning"]
    assert result.drafts[1].value == {"learnings": ["Pivots should be random"]}
    assert result.dropped == (SMALL_TALK, TOO_SHORT)


@pytest.mark.parametrize(
    ("task", "refusal"),
    [
        ("Read my mail", "I'm sorry, but I don't have access to your mail. You can open it."),
        ("查看我的邮件", "抱歉，我无法访问您的邮箱。"),
    ],
)
@pytest.mark.parametrize("is_offline", [True, False])
async def test_task_that_the_model_could_not_do_teaches_nothing(
    task: str, refusal: str, is_offline: bool
):
    model = Model("Mail must always be read in the morning")

    result = await learn(
        FinishedWork(task, outputs=[task, refusal]), None if is_offline else model.curator
    )

    assert (result.drafts, result.dropped) == ((), (NOT_DONE,))
    assert model.calls == 0


async def test_person_is_heard_although_the_model_could_not_do_the_task(judge: Judge):
    said = "I am allergic to peanuts, and our team meets every Monday in Rome. Book me a table."

    work = FinishedWork(said, outputs=[said, "Sorry, I can't do that."])

    result = await learn(work, judge=judge)

    assert list_kinds(result) == ["learning"]
    assert result.dropped == (NOT_DONE,)


async def test_failed_task_still_teaches_its_error():
    work = FinishedWork(
        "Deploy the site",
        status=WorkStatus.FAILED,
        outputs=["I could not connect."],
        errors=["Error: port 5432 was refused"],
    )

    assert list_kinds(await learn(work)) == ["task", "error"]
