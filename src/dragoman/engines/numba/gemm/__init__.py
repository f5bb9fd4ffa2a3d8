"""Matrix products.

blas            the GEMM of NumPy's own OpenBLAS, called by its address
microkernel     the innermost products, accumulated in registers
packed_weights  weights packed into panels of 16 columns, and products with them
gemm            products of training: packed blocks, or the BLAS
small_gemm      products of a search: a few rows, weights packed or not
recurrent_gemm  products of a recurrence: a few rows, weights packed once for all time steps
int16_gemm      products in 16-bit integers that keep the maximum of each panel

Routines take their arguments as a BLAS does: sizes, and each matrix with the index of its first element and its row
stride (x, x0, xs). They stay separate arguments, because a None among them selects code at compile time.
"""
