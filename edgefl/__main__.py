"""`python -m edgefl`."""

import sys

from edgefl.cli import main

sys.exit(main())
