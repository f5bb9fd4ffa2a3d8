"""Kernels over the windows of images: rows of windows and back, and pooling."""

from __future__ import annotations

from typing import Any

from dragoman.engines.numba.jit import kernel
from dragoman.engines.numba.threads.spin_gate import acquire, release


@kernel
def cut_windows(x: Any, at: Any, rows: Any) -> None:
    """rows [B * windows, h w C] = the windows of x [B, H, W, C], with zeros outside of it"""
    release()
    height, width, down, across, top, left, n, m = at
    samples, h, w, channels = x.shape
    for b in range(samples):
        for i in range(n):
            for j in range(m):
                row = rows[(b * n + i) * m + j]
                place = 0
                for k in range(height):
                    y = i * down - top + k
                    for q in range(width):
                        z = j * across - left + q
                        if 0 <= y < h and 0 <= z < w:
                            for c in range(channels):
                                row[place + c] = x[b, y, z, c]
                        else:
                            for c in range(channels):
                                row[place + c] = 0
                        place += channels
    acquire()


@kernel
def add_windows(rows: Any, at: Any, x: Any) -> None:
    """x [B, H, W, C] += the rows of its windows, at their places"""
    release()
    height, width, down, across, top, left, n, m = at
    samples, h, w, channels = x.shape
    for b in range(samples):
        for i in range(n):
            for j in range(m):
                row = rows[(b * n + i) * m + j]
                place = 0
                for k in range(height):
                    y = i * down - top + k
                    for q in range(width):
                        z = j * across - left + q
                        if 0 <= y < h and 0 <= z < w:
                            for c in range(channels):
                                x[b, y, z, c] += row[place + c]
                        place += channels
    acquire()


@kernel
def max_pool(x: Any, at: Any, y: Any, chosen: Any) -> None:
    """y [B, rows, columns, C] = the maxima; chosen = their places in the window, the first of equals; NaN wins"""
    release()
    height, width, down, across, _, _, n, m = at
    for b in range(x.shape[0]):
        for i in range(n):
            for j in range(m):
                for c in range(x.shape[3]):
                    best, place = x[b, i * down, j * across, c], 0
                    for k in range(height):
                        for q in range(width):
                            value = x[b, i * down + k, j * across + q, c]
                            if value > best or (value != value and best == best):
                                best, place = value, k * width + q
                    y[b, i, j, c], chosen[b, i, j, c] = best, place
    acquire()


@kernel
def max_pool_backward(dy: Any, at: Any, chosen: Any, dx: Any) -> None:
    """dx += dy at the places that were chosen"""
    release()
    _, width, down, across, _, _, n, m = at
    for b in range(dx.shape[0]):
        for i in range(n):
            for j in range(m):
                for c in range(dx.shape[3]):
                    place = chosen[b, i, j, c]
                    dx[b, i * down + place // width, j * across + place % width, c] += dy[b, i, j, c]
    acquire()


@kernel
def average_pool(x: Any, at: Any, share: Any, y: Any) -> None:
    """y [B, rows, columns, C] = the sums over the windows, times share"""
    release()
    height, width, down, across, _, _, n, m = at
    for b in range(x.shape[0]):
        for i in range(n):
            for j in range(m):
                for c in range(x.shape[3]):
                    total = share * 0
                    for k in range(height):
                        for q in range(width):
                            total += x[b, i * down + k, j * across + q, c]
                    y[b, i, j, c] = total * share
    acquire()


@kernel
def average_pool_backward(dy: Any, at: Any, share: Any, dx: Any) -> None:
    """dx += dy times share, at every place of the window"""
    release()
    height, width, down, across, _, _, n, m = at
    for b in range(dx.shape[0]):
        for i in range(n):
            for j in range(m):
                for k in range(height):
                    for q in range(width):
                        for c in range(dx.shape[3]):
                            dx[b, i * down + k, j * across + q, c] += dy[b, i, j, c] * share
    acquire()
