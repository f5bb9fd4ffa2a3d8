"""The numba engine: operations on fused kernels, compiled when first used and cached on disk.

ops           registers everything below with the operations it replaces
kernels       kernels of single operations
gemm          matrix products
simd          vector registers and vectorized functions
programs      training passes of traced networks without a graph
search        whole greedy and beam searches in one call
recurrent     recurrences
word_vectors  word2vec
threads       the gate in front of the GIL
jit           how kernels are compiled and cached
"""

from dragoman.engines.numba.ops import (
    attention,
    dense,
    fused_search,
    images,
    programs,
    recurrent,
    vector_updates,
    word_vectors,
)

__all__ = ["attention", "dense", "fused_search", "images", "programs", "recurrent", "vector_updates", "word_vectors"]
