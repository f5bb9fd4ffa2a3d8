"""Word vectors: the steps of operations.vector_steps, with the same draws in the same order.

predictions   one prediction: what it is compared with, and what moves
steps         through a text, place by place
"""
