"""Redraw the images of the documentation by running the code of its pages.

Run it with `make pictures`; the images are saved in docs/images. The report on the demo's customers
is pictured if Chromium is installed.
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib as mpl
from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import hedgerow as hr

mpl.use("Agg")
import matplotlib.pyplot as plt
from demo import customers

DOCS = Path(__file__).resolve().parents[1] / "docs"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def keep_small(picture):
    """Reduce to 128 colours: no visible difference, and a third of the file size."""
    small = Image.open(picture).convert("RGB").quantize(128)
    small.save(DOCS / "images" / picture, optimize=True)


def draw(text):
    """Run the code of a page, with the X and y that pages assume."""
    names = dict(zip("Xy", load_breast_cancer(return_X_y=True), strict=True))
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, names)
    plt.close("all")


def draw_report():
    """Save a picture of a part of the report on customers: the threshold, and what errors cost."""
    X, y = customers()
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = hr.GradientBoostingClassifier(n_estimators=500, learning_rate=0.05, early_stopping=True)
    hr.report(model.fit(train, y_train), test, y_test, "report.html", target_name="status")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    options += ["--hide-scrollbars", "--window-size=1280,1900", "--screenshot=report.png"]
    page = Path("report.html").resolve().as_uri()
    subprocess.run([CHROMIUM, *options, page], check=True, stderr=subprocess.DEVNULL)
    part = Image.open("report.png").convert("RGB").crop((250, 800, 1280, 1880))
    part.save(DOCS / "images" / "report.png", optimize=True)


def main():
    with tempfile.TemporaryDirectory() as elsewhere:
        os.chdir(elsewhere)  # where pages may write models and reports too
        if CHROMIUM:
            draw_report()
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
