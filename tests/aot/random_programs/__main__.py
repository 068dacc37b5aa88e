"""`python -m tests.aot.random_programs`."""

import sys

from .command import main

sys.exit(main())
