"""What `python -m bench.judgement --write` finds in its sentences, and the product judges by."""
