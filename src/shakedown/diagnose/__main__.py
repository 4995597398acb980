"""Prints the documentation's page of all signatures."""

from shakedown.diagnose.catalogue import signatures
from shakedown.diagnose.page import catalogue_page

if __name__ == "__main__":
    print(catalogue_page(signatures()), end="")
