"""The parts of the node that searches knowledge bases: settings, questions to models, ranking and filters."""
