"""Registers kernels with the operations they replace.

Each function checks its arguments and returns NotImplemented for what the kernels do not cover; then the definition
runs, which also raises the errors for invalid input.
"""
