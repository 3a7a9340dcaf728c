"""Answers questions with bm25s as in its documentation, with its stop words and a stemmer; k1 and b are those of ours.

The script reads the sets from the folder RETRIEVAL_SETS and prints the first ten keys for each question.
"""

import json
import os
from pathlib import Path

import bm25s
import Stemmer

from bench.retrieval_sets import read_sets


def list_answers(namespace):
    """Yield the keys of the results for each question of the namespace, best first."""
    stemmer = Stemmer.Stemmer("english")
    options = {"stopwords": "en", "stemmer": stemmer, "show_progress": False}
    keys = [entry["key"] for entry in namespace.entries]
    tokens = bm25s.tokenize([entry["text"] for entry in namespace.entries], **options)
    index = bm25s.BM25(k1=0.9, b=0.4)
    index.index(tokens, show_progress=False)
    for question in namespace.questions:
        query = bm25s.tokenize([question.text], **options)
        numbers, scores = index.retrieve(query, k=min(10, len(keys)), show_progress=False)
        pairs = zip(numbers[0], scores[0], strict=True)
        yield [keys[number] for number, score in pairs if score > 0]


def main():
    folder = Path(os.environ["RETRIEVAL_SETS"])
    answers = {
        question_set.name: {
            namespace.id: list(list_answers(namespace)) for namespace in question_set.namespaces
        }
        for question_set in read_sets(folder)
        if question_set.language == "en"  # bm25s splits texts at spaces
    }
    print(json.dumps(answers))


main()
