"""What a question of a person asks for, and what of their memory enters the prompt because of it."""
