"""Bounds of requests that do not depend on the settings of a server: what one job may ask of a model."""

from __future__ import annotations

EXPLAINED = 2_000  # characters of a text whose translation is explained; a longer one is only translated
BEST = 10  # translations of a text
BEAM = 32  # width of a search
WEIGHTS = 400_000  # numbers of attention in an answer
PAIR_TOKENS = 1_024  # of one side of a pair that is scored
SCORED = 20_000  # characters of a text, or of a pair, that is scored
PROMPT = 20_000  # characters that a language model goes on from
STOPS = 8  # texts at which writing ends
STOP_CHARACTERS = 100  # of each of them
IMAGES = 16  # of a request
WORDS = 300  # of a text whose prediction is explained: each word costs a prediction
TEXT_CHARACTERS = 10_000  # of such a text
HORIZON = 2_000  # rows of a forecast
SERIES_ROWS = 100_000
SERIES_COLUMNS = 1_000
CSV_BYTES = 4 * 2**20
SHOWN_ROWS = 500  # known rows that come back with a forecast
FEATURE_NUMBERS = 1_000_000  # of all vectors of an answer
FEATURE_CHARACTERS = 50_000  # of all texts whose vectors are asked for
HISTORY = 1_000  # evaluations of a training that are told
REPORT_BYTES = 2 * 2**20  # of an evaluation that is told
CLASSES = 1_000  # names of classes that are told
