"""The words of the corpus: English beside Spanish, with what they can be said of."""
