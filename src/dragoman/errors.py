"""Errors a user can act on. Each message says what was found, where, what was expected and what to do."""


class DragomanError(Exception):
    """Base of every error caused by input, configuration or files; the command line prints it without a traceback."""


class ShapeError(DragomanError):
    """Arrays whose shapes do not fit each other."""


class LabelError(DragomanError):
    """A label outside the vocabulary, or a sequence longer than the network was built for."""


class NonFiniteError(DragomanError):
    """NaN or infinity where a number was expected."""


class ConfigurationError(DragomanError):
    """A setting that does not exist, or a value it cannot take."""


class GraphError(DragomanError):
    """A graph used in a way back-propagation does not define."""


class GradientError(DragomanError):
    """A derivative that disagrees with its numerical reference."""


class DataError(DragomanError):
    """Data that cannot be read, or a line of it that cannot be used."""


class FileFormatError(DragomanError):
    """A file that is not what its reader expects."""


class RankError(DragomanError):
    """Another rank is gone, or does not answer: this one must end too."""


class VersionError(DragomanError):
    """An installed package that is known to fail."""


class DragomanWarning(UserWarning):
    """Something that is allowed but probably a mistake, or that the theory advises against."""
