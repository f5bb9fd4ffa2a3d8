"""Whole searches in compiled code: the network and the choice of labels, without Python between them.

model_view         a ModelSpec as kernels take it
encode, decode     the Transformer on flat weights: all sources, and one new position of every sequence
topk               normalizer and best labels of a row of logits
quantized_argmax   the best label from 16-bit products, where no scores are asked for
prefix_tree        the sequences being written, as a tree of cache rows
hypotheses         finished sequences of a beam search
greedy, beam       the searches of `decoding`
"""
