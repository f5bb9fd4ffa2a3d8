"""Side by side with peers: training steps and decoding, in one run, each contender in a process of its own.

workloads    what is measured             material     what a contender is given: weights and batches on disk
sentences    where lengths come from      worker       the process of one contender; `contenders` has our own
processes    asking the processes         rounds       blocks in alternating order, ratios and their spread
training, decoding, scaling, corpora      report, machine, figures

torch and ctranslate2 are imported by torch_*.py and ctranslate2_worker.py alone, in their own processes.
"""
