"""Documents: texts and HTML as sentences to translate, and the translations as a document again."""

from dragoman.tasks.translation.documents.document import Document
from dragoman.tasks.translation.documents.html import split_html
from dragoman.tasks.translation.documents.text import split_text

__all__ = ["Document", "split_html", "split_text"]
