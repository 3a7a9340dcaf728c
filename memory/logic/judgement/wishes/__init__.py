"""Find what a person asks to forget, or not to keep at all."""
