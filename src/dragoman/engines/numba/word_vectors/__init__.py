"""Word vectors: operations.vector_steps with the same random draws in the same order.

predictions   one prediction: negative sampling or softmax, and its updates
training      all positions of a text
"""
