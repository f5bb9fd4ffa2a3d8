"""The words of the built-in corpora: English beside Spanish, with what they can be said of."""
