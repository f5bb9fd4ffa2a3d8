"""What happens to a text as a text: documents, sentences, protected spans, scripts, languages.

It knows no network: where words are judged by one (`spans`), the judge is an argument.
"""
