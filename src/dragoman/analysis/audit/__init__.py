"""The equation audit: the published equations of the thesis, the notes, the custom-net sheet and the book's chapter 7."""

from dragoman.analysis.audit.run import Finding, audit, audit_size, equations

__all__ = ["Finding", "audit", "audit_size", "equations"]
