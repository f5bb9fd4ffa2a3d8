"""Arrays that record the matrix products they take part in, so that costs are measured and not assumed."""

from __future__ import annotations

from typing import Any

import numpy as np


class Products(list[tuple[tuple[int, ...], tuple[int, ...], int]]):
    """(shape of the left factor, shape of the right factor, multiply-adds) of every product."""

    @property
    def multiply_adds(self) -> int:
        return sum(cost for _, _, cost in self)

    def with_square(self, n: int) -> list[int]:
        """The costs of the products that make, or apply, an n x n matrix."""
        return [cost for a, b, cost in self if a[-2:] == (n, n) or (a[-2], b[-1]) == (n, n)]


class Counted(np.ndarray[Any, Any]):
    products: Products

    @classmethod
    def of(cls, array: np.ndarray, products: Products) -> Counted:
        counted = np.array(array).view(cls)
        counted.products = products
        return counted

    def __array_finalize__(self, parent: Any) -> None:
        self.products = getattr(parent, "products", Products())

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, Counted) else x for x in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            self.products.append((plain[0].shape, plain[1].shape, result.size * plain[0].shape[-1]))
        return Counted.of(result, self.products) if isinstance(result, np.ndarray) else result
