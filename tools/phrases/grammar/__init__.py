"""A synchronous grammar: each rule writes an English sentence and its Spanish translation together.

The translation is a function of the English sentence. Where English says less than Spanish, a convention decides: "you"
is tú; I, you, we and they are masculine; he, she and they keep their Spanish pronoun, I, you and we drop it; a
profession or an animal whose sex is not told is masculine. The Spanish is that of Spain (coche, ordenador, zumo).
"""
