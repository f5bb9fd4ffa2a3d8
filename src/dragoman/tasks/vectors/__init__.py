"""Word vectors (book 7.1): learnt from a text, asked, kept on disk, and put into a network to begin with.

words        words and their vectors: which are near, which stand in the same relation
text         a text as words, and the words as labels
plan         what is chosen about learning, and what follows from it
training     from a text to vectors
files        the formats of word2vec
embeddings   vectors as the initial embeddings of a network
"""
