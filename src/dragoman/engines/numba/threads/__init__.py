"""How threads that share the GIL hand it to each other."""
