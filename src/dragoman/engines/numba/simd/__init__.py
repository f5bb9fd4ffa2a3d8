"""Vector arithmetic for kernels.

elementwise  exp and max of one number, written so that LLVM vectorizes loops over them
float32x8    a register of eight float32 and the instructions on it
"""
