"""The workflow that is run: model calls, an HTTP request, code, a template, and memory."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.chaos.ledger import Ledger


EFFECTS = ("first", "request", "second")  # the nodes whose calls the ledger sees


@dataclass(frozen=True)
class Application:
    """A team with the workflow in it, and a key to start runs through the API."""

    principal: Any
    team: Any
    workflow: Any
    key: str

    def start(self, number: int) -> Any:
        """Queue a run in this process, and return it."""
        from workflows.services.runs.runs import start_run

        return start_run(self.principal, workflow=self.workflow, inputs={"number": number})


def create_application(ledger: Ledger) -> Application:
    from accounts.principals import UserPrincipal
    from accounts.roles import Role
    from accounts.services import issue_key
    from bench._services import create_operator
    from workflows.services.catalog import importing
    from workflows.services.credentials import create_provider

    user, team = create_operator()
    principal = UserPrincipal(user, {team.pk: Role.OWNER})
    create_provider(
        principal, team_id=team.pk, name="ledger", base_url=f"http://{ledger.address}/v1",
        secret="sk-of-the-ledger-0123456789",
    )  # fmt: skip
    workflow = importing.import_document(
        principal, team_id=team.pk, source=build_document(ledger.address), name="Chaos"
    ).workflow
    scopes = ["workflows:read", "runs:read", "runs:write"]
    _row, secret = issue_key(principal=principal, team=team, name="bench", scopes=scopes)
    return Application(principal, team, workflow, secret)


def build_document(address: str) -> dict[str, Any]:
    """Build start → first → template → request → code → remember → recall → second → end."""
    nodes = {
        "start": {"type": "start", "variables": [{"variable": "number", "type": "number", "label": "Number", "required": True}]},
        "first": _build_model_call("first"),
        "template": {
            "type": "template-transform", "template": "{{ text }} / {{ number }}",
            "variables": [
                {"variable": "text", "value_selector": ["first", "text"]},
                {"variable": "number", "value_selector": ["start", "number"]},
            ],
        },
        "request": {
            "type": "http-request", "method": "post", "url": f"http://{address}/effect",
            "headers": "", "params": "", "authorization": {"type": "no-auth"},
            "body": {"type": "raw-text", "data": [{"type": "text", "value": "request of run {{#start.number#}}"}]},
        },
        "code": {
            "type": "code", "code_language": "python3",
            "code": "def main(number):\n    return {'double': number * 2}",
            "variables": [{"variable": "number", "value_selector": ["start", "number"]}],
            "outputs": {"double": {"type": "number"}},
        },
        "remember": {
            "type": "memory-store", "scope": "run", "key": "text", "value_selector": ["template", "output"],
        },
        "recall": {"type": "memory-recall", "scope": "run", "query": "answer"},
        "second": _build_model_call("second"),
        "end": {"type": "end", "outputs": [
            {"variable": name, "value_selector": selector}
            for name, selector in (
                ("first", ["first", "text"]), ("second", ["second", "text"]),
                ("double", ["code", "double"]), ("recalled", ["recall", "count"]),
            )
        ]},
    }  # fmt: skip
    names = list(nodes)
    return {
        "version": "0.1.0",
        "nodes": [{"id": name, "data": {"title": name, **data}} for name, data in nodes.items()],
        "edges": [
            {"id": f"edge-{target}", "source": source, "target": target}
            for source, target in pairwise(names)
        ],
    }


def _build_model_call(name: str) -> dict[str, Any]:
    return {
        "type": "llm",
        "model": {"provider": "ledger", "name": "small", "mode": "chat"},
        "prompt_template": [{"role": "user", "text": f"{name} of run {{{{#start.number#}}}}"}],
    }
