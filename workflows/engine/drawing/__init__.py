"""Where boxes and edges of a graph are drawn: layers of nodes, and the paths of edges around them."""
