__version__ = "0.1.0"

# The one place where the project's address stands: setup.py and the pages take it from here. It is
# a placeholder, of a domain that nobody can register, until there is a public repository.
HOME = "https://example.org/sklearn-xc"
