"""Random numbers, one draw a sample."""

from videoloader.fn.function import Function

__all__ = ["coin_flip", "uniform"]

coin_flip = Function("random.coin_flip")
uniform = Function("random.uniform")
