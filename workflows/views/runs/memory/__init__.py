"""What a run did with memory, as its page shows it."""
