"""Programs for the developers of Dragoman; none of them is part of the installed package."""
