"""bm25s as its own page shows it: its stop words, its stemmer, k1 0.9 and b 0.4 as ours.

Reads the sets from the folder named in RETRIEVAL_SETS; answers with the first ten keys of each question.
"""

import json
import os
from pathlib import Path

import bm25s
import Stemmer

from bench.retrieval_sets import read_sets


def answers(namespace):
    stemmer = Stemmer.Stemmer("english")
    how = {"stopwords": "en", "stemmer": stemmer, "show_progress": False}
    keys = [one["key"] for one in namespace.entries]
    index = bm25s.BM25(k1=0.9, b=0.4)
    index.index(
        bm25s.tokenize([one["text"] for one in namespace.entries], **how), show_progress=False
    )
    for question in namespace.questions:
        asked = bm25s.tokenize([question.text], **how)
        found, scores = index.retrieve(asked, k=min(10, len(keys)), show_progress=False)
        yield [keys[number] for number, score in zip(found[0], scores[0], strict=True) if score > 0]


def main():
    folder = Path(os.environ["RETRIEVAL_SETS"])
    answered = {
        one.name: {namespace.id: list(answers(namespace)) for namespace in one.namespaces}
        for one in read_sets(folder)
        if one.language == "en"  # it cuts at spaces
    }
    print(json.dumps(answered))


main()
