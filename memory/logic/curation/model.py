"""The curator with a model: asks, reads, asks once more, gives up with a reason."""

from dataclasses import dataclass

from memory.logic.curation.parsing import Analysis, parse_analysis
from memory.logic.curation.model_curator import build_prompt, build_retry
from memory.logic.curation.repair import Unreadable
from memory.logic.curation.work import FinishedWork
from memory.logic.ports import AskModel


@dataclass(frozen=True, slots=True)
class ModelCurator:
    ask: AskModel
    name: str = "model"
    budget: int = 6_000

    async def analyse(self, work: FinishedWork) -> Analysis:
        """Raises ``Unreadable`` after the second answer, and whatever the model raises."""
        prompt = build_prompt(work, budget=self.budget)
        answer = await self.ask(prompt)
        try:
            return parse_analysis(answer)
        except Unreadable as error:
            return parse_analysis(await self.ask(build_retry(prompt, answer, str(error))))
