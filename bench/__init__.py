"""Side-by-side benchmarks, one command for each claim. ``docs/`` says how to read them."""
