"""Captioning: a sentence about an image."""
