"""Attention kernels.

blocked   long float32 sequences, any width of a head: training; its backward pass is `blocked_backward`
simd      other float32 sequences if the width of a head is a multiple of 8: training, and one decoding step
scalar    every other width, and double precision
gathered  float32, keys and values read from listed rows of a cache: whole searches
additive  the additive score (book 7.22)

`arguments` holds the tuples that they take.

Each version reads its memory differently and sums in its own order, so they share no loop over keys.
"""
