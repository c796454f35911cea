"""The templates of this folder for one chip: ``make.py TEMPLATE CHIP SHARED_BYTES LACKS...`` prints the test."""

import re
import sys
from pathlib import Path

template, chip, shared, *lacks = sys.argv[1:]
text = Path(__file__).with_name(template).read_text()
for feature in lacks:
    text = re.sub(rf"lacks-{feature}-(error|warning|remark)@", r"expected-\1@", text)
print(text.replace("CHIP", chip).replace("SHARED", shared).replace("MORE", str(int(shared) + 1)))
