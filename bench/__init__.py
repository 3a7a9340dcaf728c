"""Side-by-side benchmarks, one command a claim. See ``docs/`` for how to read them."""
