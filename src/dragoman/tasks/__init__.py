"""Tasks: what users want to do with text; the only package that knows both text and networks."""
