"""Benchmark training steps and decoding against PyTorch and CTranslate2, each contender in its own process.

workloads    what is measured             material     the weights and batches that contenders read from disk
sentences    sentence pairs to measure    worker       the process of one contender; `contenders` has our own
processes    requests to the processes    rounds       blocks in alternating order, ratios and their spread
training, decoding, scaling, corpora      report, machine, figures

Only torch_*.py and ctranslate2_worker.py import torch and ctranslate2, in the processes of these contenders.
"""
