"""The toy example of the book's section 7.2: 8 words, 20 hidden units, 748 parameters, and one sentence to learn.

The network reads a word and predicts the next one. Run it with `python examples/toy.py`; it takes a second.
"""

import itertools

import numpy as np

from dragoman import Batch
from dragoman.networks import RecurrentNetwork, RecurrentNetworkConfiguration
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, train

LEXICON = ["deep", "engineering", "learning", "machine", "mathematical", "of", "statistics", "the"]
SENTENCE = "the mathematical engineering of deep learning"

x = np.array([LEXICON.index(word) for word in SENTENCE.split()])
print("words by their number, from 1:", x + 1)

# The targets are the same words, one step ahead: y<t> = x<t+1>
batch = Batch(labels=x[:-1], offsets=np.array([0, len(x) - 1]), targets=x[1:])

network = RecurrentNetwork(RecurrentNetworkConfiguration(inputs=8, units=20, outputs=8))
print(f"{network.count()} parameters")

outcome = train(network, itertools.repeat(batch), Adam(), Constant(0.01), Stopping(steps=200, loss_goal=0.01))
for step in sorted({*range(0, len(outcome.losses), 10), len(outcome.losses) - 1}):
    print(f"  step {step + 1}: {outcome.losses[step]}")
print(f"stopped: {outcome.reason}")

# From here on it reads what it said itself.
said, state = [x[0]], network.encode(Batch.pack([[]]))
while len(said) < len(x):
    scores, state = network.step(state, np.array([said[-1]]))
    said.append(scores[0].argmax())
print("says:", " ".join(LEXICON[label] for label in said))
