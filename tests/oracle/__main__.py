"""`python -m tests.oracle`."""

import sys

from .oracle import main

sys.exit(main())
