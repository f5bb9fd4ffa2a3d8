"""A manifest of what must stay while the code moves: recorded from a checkout, compared after every move.

    PYTHONPATH=src python -m tools.manifest record OUT_DIR [--only SECTION,...]
    PYTHONPATH=src python -m tools.manifest compare OLD_DIR NEW_DIR

A temporary tool: it goes, with its test, when issues 32 and 33 are done.

The product is reached by the command line, HTTP, files and the public names of `dragoman`. Everything else that is
imported from it is in `inner`, the only file that a move of modules has to change.
"""
