"""Language models: a text in, something that writes on out."""
