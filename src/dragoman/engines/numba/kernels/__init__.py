"""Kernels of single operations. `ops` registers them; `programs` call some of them by address."""
