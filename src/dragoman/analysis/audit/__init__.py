"""The equation audit: every published equation of the thesis, the notes and the custom-net sheet, run and checked."""

from dragoman.analysis.audit.claim import CLAIMS, CORRECTIONS, Claim, Correction, Evidence

__all__ = ["CLAIMS", "CORRECTIONS", "Claim", "Correction", "Evidence"]
