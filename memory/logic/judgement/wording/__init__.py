"""Read a message before anything of it is judged: whose words they are, whom they are about, what they correct, and when it holds."""
