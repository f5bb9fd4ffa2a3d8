"""A whole training step in one call: kernel calls recorded once for a network and replayed for any batch.

tape          a list of kernel calls whose arguments are affine in addresses and row counts
layers        writes the calls of the encoder or the decoder stack, forward and backward
program       the tape of a whole Transformer, and one run of it for a batch
kernel_calls  the kernels under one calling convention, and the loop that runs a tape
"""
