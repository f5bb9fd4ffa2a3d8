"""A whole pass of training in one call: the error of a batch and all that its gradient is made of."""
