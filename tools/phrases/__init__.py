"""The generator of the built-in English-Spanish corpus `phrases`: a grammar, a lexicon, and Spanish morphology.

python -m tools.phrases

writes src/dragoman/data/phrases.tsv.xz, the file that Dragoman ships and reads.
"""

from tools.phrases.corpus import Pair, phrases

__all__ = ["Pair", "phrases"]
