"""`python -m tabiya` is `tabiya`."""

import sys

from tabiya.cli import main

if __name__ == "__main__":
    sys.exit(main())
