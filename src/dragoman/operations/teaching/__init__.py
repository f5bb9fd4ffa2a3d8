"""Teaching operations: the sources' finer pieces in their own notation, each beside its derivative.

Training uses the coarse operations next door; tests show that these compose to the same thing.
"""
