"""Tables of workflows: what goes in, what must come out. Every backend runs the same ones."""
