"""Tell what a question of a person asks for, and so what of their memory enters the prompt."""
