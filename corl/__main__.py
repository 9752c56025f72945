"""`python -m corl` is `corl`."""

import sys

from corl.cli.main import main

sys.exit(main())
