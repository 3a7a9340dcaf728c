"""What is wrong with a node, beside its fields."""

import json
import re

from django.urls import reverse

from tests.factories.workflows import document, make_workflow
from tests.support.markup import markup_of


def test_problem_beside_its_field_names_nodes_by_their_titles(alice):
    source = document(name="Begin")
    source["nodes"][-1]["data"]["outputs"] = [
        {"variable": "said", "value_selector": ["start", "nowhere"]}
    ]
    workflow = make_workflow(alice, source=source)

    page = markup_of(alice.client.get(reverse("workflows:node", args=[workflow.pk, "end"])))

    held = re.search(r'<script id="insp-data" type="application/json">(.*?)</script>', page, re.S)
    assert held
    messages = [problem["message"] for problem in json.loads(held[1])["problems"]]
    assert any("Begin has no output nowhere" in one for one in messages)
