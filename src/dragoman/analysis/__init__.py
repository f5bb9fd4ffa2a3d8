"""Figures, testing analysis, and the equation audit."""
