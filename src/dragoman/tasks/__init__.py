"""Tasks: one module per thing a user wants done; the only place that knows both text and networks."""
