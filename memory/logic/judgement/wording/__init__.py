"""Read a message before it is judged: whose words it has, whom they are about, what they correct, and when it holds."""
