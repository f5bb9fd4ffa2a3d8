"""Texts in, classes out."""
