"""The equation audit: every published equation of the thesis, the notes and the custom-net sheet, run and checked."""

from dragoman.analysis.audit.run import Finding, audit, audit_size

__all__ = ["Finding", "audit", "audit_size"]
