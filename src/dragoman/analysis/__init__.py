"""What was learnt, and whether it is true: figures, testing analysis, the equation audit."""
