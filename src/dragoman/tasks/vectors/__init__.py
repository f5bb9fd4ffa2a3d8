"""Word vectors (book 7.1): train, query and save them, and initialize embeddings with them.

words        words and their vectors: nearest words, analogies
text         a text as words, and the words as labels
plan         settings, and the plan of steps
training     train vectors on a text
files        the formats of word2vec
embeddings   vectors as the initial embeddings of a network
"""
