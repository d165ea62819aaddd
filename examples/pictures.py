"""Draw the pictures of the documentation again, by running the code of the pages that show them.

Run it with `make pictures`: what the pages of docs save goes to docs/images.
"""

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

import matplotlib as mpl
from PIL import Image
from sklearn.datasets import load_breast_cancer

mpl.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1] / "docs"


def keep_small(picture):
    """Keep 128 colours: the eye sees no difference, and the file is a third of the size."""
    small = Image.open(picture).convert("RGB").quantize(128)
    small.save(DOCS / "images" / picture, optimize=True)


def draw(text):
    """Run the code of a page, with the rows that pages take for granted."""
    names = dict(zip("Xy", load_breast_cancer(return_X_y=True), strict=True))
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, names)
    plt.close("all")


def main():
    with tempfile.TemporaryDirectory() as elsewhere:
        os.chdir(elsewhere)  # where pages may write models and reports too
        for page in sorted(DOCS.glob("*.md")):
            text = page.read_text(encoding="utf-8")
            pictures = re.findall(r'savefig\("(\w+\.png)"', text)
            if pictures:
                draw(text)
            for picture in pictures:
                keep_small(picture)
        os.chdir(DOCS)


if __name__ == "__main__":
    main()
