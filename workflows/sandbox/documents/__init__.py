"""Takes the text out of documents of strangers, in runners without files, network and credentials."""
