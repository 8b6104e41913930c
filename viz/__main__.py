"""`python -m viz` is the same as `plusequals`."""

import sys

from viz.cli import main

sys.exit(main())
