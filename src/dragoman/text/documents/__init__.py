"""Documents: texts and HTML as sentences to translate, and the translations as a document again."""

from dragoman.text.documents.document import Document
from dragoman.text.documents.html import split_html
from dragoman.text.documents.text import split_text

__all__ = ["Document", "split_html", "split_text"]
