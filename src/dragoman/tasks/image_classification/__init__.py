"""Images in, classes out."""
