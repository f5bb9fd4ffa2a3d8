"""Whole searches in compiled code: the network and the choice of labels, without Python between them.

products           y = x W + b for a few rows
looking, passes    attention, and the Transformer over flat weights
reading            sources through the encoders
choosing           what a search reads from logits
integers           products with the vocabulary in 16 bits
sieve              which labels may be the best, where nothing else is asked
sequences          what is being written, as a tree of rows; hypotheses, what was written
known              a network as these kernels take it
greedy, beam       the searches of `decoding`
"""
