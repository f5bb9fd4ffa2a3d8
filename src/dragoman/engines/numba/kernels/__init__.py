"""Kernels of single operations. `ops` registers them; `fused_step` calls some of them by address."""
