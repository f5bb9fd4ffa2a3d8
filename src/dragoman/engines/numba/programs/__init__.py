"""Programs: the kernel calls of a traced network, forward and backward, run for any batch without a graph.

kernels       one class per operation: what it covers, its calls forward and backward
python_calls  operations that are called from Python between the kernels
writer        what these write to: calls, values and deltas by symbol, derivatives of parameters
fields        the arguments of calls, by name
tape          a list of kernel calls whose arguments are affine in addresses and row counts; plans their buffers
kernel_calls  the kernels under one calling convention, and the loop that runs a tape
program       the program of a traced network, and one run of it for a batch
"""
