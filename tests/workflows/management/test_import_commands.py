"""``import_workflow``, ``export_workflow`` and ``import_report``: what they create, print and write."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from tests.factories.workflows import document as build_document
from tests.support.cast import Cast


MISSING = {"type": "datasource", "title": "Drive", "provider_name": "acme/drive", "depth": 3}


def build_dify(*nodes: dict[str, Any], mode: str = "workflow") -> dict[str, Any]:
    end = {"type": "end", "outputs": [{"variable": "o", "value_selector": ["n0", "text"]}]}
    items = [
        {"id": "start", "data": {"type": "start", "variables": []}},
        *({"id": f"n{index}", "data": data} for index, data in enumerate(nodes)),
        {"id": "end", "data": end},
    ]
    edges = [
        {"id": f"e{index}", "source": items[index]["id"], "target": items[index + 1]["id"]}
        for index in range(len(items) - 1)
    ]
    app = {"name": "Imported", "mode": mode}
    graph = {"nodes": items, "edges": edges}
    return {"version": "0.6.0", "kind": "app", "app": app, "workflow": {"graph": graph}}


def build_overlong() -> dict[str, Any]:
    """Return a document that the tables of drafts can't hold."""
    variable = {"name": "K" * 1000, "value": "x"}
    return {**build_document(), "environment_variables": [variable]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = {
        "sound.yml": build_document(),
        "inner/missing.yaml": build_dify(MISSING),
        "invalid.yml": build_dify({"type": "llm", "model": "none"}),
        "broken.yml": {"workflow": 3},
        "overlong.yml": build_overlong(),
    }
    for name, tree in documents.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(tree))
    (tmp_path / "index.json").write_text("[]")
    (tmp_path / "README.md").write_text("About these documents.")
    return tmp_path


def test_import_report_counts_what_imports_opens_validates_and_runs(
    folder: Path, tmp_path: Path
) -> None:
    out = StringIO()

    call_command("import_report", folder, "--run", "--json", tmp_path / "report.json", stdout=out)

    report = json.loads((tmp_path / "report.json").read_text())
    assert report["totals"] == {
        "documents": 5,
        "imported": 3,
        "opens": 3,
        "validates": 2,
        "runs": 2,
        "ignored_in_silence": 0,
    }
    missing = next(row for row in report["files"] if row["file"] == "inner/missing.yaml")
    assert (missing["runs"], missing["findings"][0]["name"]) == (True, "datasource")
    assert "broken.yml: app" in out.getvalue()
    assert "overlong.yml: KKK" in out.getvalue()


def test_import_report_without_run_counts_no_runs(folder: Path) -> None:
    out = StringIO()

    call_command("import_report", folder, "--details", stdout=out)

    assert "runs None" in out.getvalue()
    assert "datasource (acme/drive): missing; a run that reaches it fails [Drive]" in out.getvalue()


@pytest.mark.django_db
def test_import_workflow_prints_what_the_page_says(cast: Cast, tmp_path: Path) -> None:
    model = {"provider": "acme", "name": "big", "completion_params": {"mirostat": 2}}
    prompt = [{"role": "user", "text": "{{#ghost.text#}}"}]
    llm = {"type": "llm", "title": "Writer", "model": model, "prompt_template": prompt,
           "vision": {"enabled": True}}  # fmt: skip
    sound = {**llm, "title": "Editor", "prompt_template": [{"role": "user", "text": "Hello"}]}
    tree = {**build_dify(llm, sound), "version": "0.3.0"}
    plugin = {"plugin_unique_identifier": "acme/unused:3@22"}
    tree["dependencies"] = [{"type": "package", "value": plugin}]
    (tmp_path / "one.yml").write_text(yaml.safe_dump(tree))
    out = StringIO()

    call_command("import_workflow", tmp_path / "one.yml", "--as", cast.alice.user.email, stdout=out)

    lines = [line.strip() for line in out.getvalue().splitlines()[1:]]
    assert lines[0] == "2 of 4 nodes can run"
    assert lines[1].startswith("1 node has only the offline demo model. The offline demo model")
    assert {
        "1 node fails when a run reaches it",
        "acme/big: only the offline demo model answers [Writer, Editor]",
        "acme/unused: not used by any node",
        "Model parameter `mirostat` (2): It is not sent to the model, which uses its default. [Writer, Editor]",
        "From the import:",
    } <= set(lines)
    assert any(line.startswith("Images in prompts: The model that answers can't") for line in lines)
    assert any(line.startswith("Writer: ") and "doesn't exist" in line for line in lines)
    assert any("An older Dify exported this document (format 0.3.0" in line for line in lines)


@pytest.mark.django_db
def test_imported_workflow_is_exported_with_its_placeholder(cast: Cast, folder: Path) -> None:
    out, email = StringIO(), cast.alice.user.email
    call_command(
        "import_workflow", folder / "inner/missing.yaml", "--as", email, "--json", stdout=out
    )
    created = json.loads(out.getvalue())
    target = folder / "again.yml"

    call_command("export_workflow", created["workflow"], "--as", email, "--output", target)

    nodes = yaml.safe_load(target.read_text())["workflow"]["graph"]["nodes"]
    assert [node["data"] for node in nodes if node["id"] == "n0"] == [MISSING]
    assert [finding["need"] for finding in created["findings"]] == ["node_type"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("file", "options", "reason"),
    [
        ("inner/missing.yaml", [], "--as EMAIL"),
        ("inner/missing.yaml", ["--as", "nobody@example.com"], "no account"),
        ("nothing.yml", ["--as", "alice"], "can't be read"),
        ("broken.yml", ["--as", "alice"], "app"),
        ("inner/missing.yaml", ["--as", "alice", "--team", "No such"], "no team"),
    ],
)
def test_import_workflow_says_why_it_refuses(
    cast: Cast, folder: Path, file: str, options: list[str], reason: str
) -> None:
    options = [cast.alice.user.email if option == "alice" else option for option in options]

    with pytest.raises(CommandError, match=reason):
        call_command("import_workflow", folder / file, *options, stdout=StringIO())


@pytest.mark.django_db
def test_export_workflow_of_another_team_is_not_found(cast: Cast, folder: Path) -> None:
    out = StringIO()
    call_command(
        "import_workflow",
        folder / "sound.yml",
        *("--as", cast.alice.user.email, "--json"),
        stdout=out,
    )

    with pytest.raises(CommandError, match="no such workflow"):
        call_command(
            "export_workflow",
            json.loads(out.getvalue())["workflow"],
            *("--as", cast.carol.user.email),
        )
