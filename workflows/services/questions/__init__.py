"""Questions to people: whom they ask, their links, reminders and escalations, and their end with their workflow."""
