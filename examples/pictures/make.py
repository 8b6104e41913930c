"""Makes the pictures of the READMEs: python examples/pictures/make.py

Needs what `make test` installs, and a Chromium for the screenshot of the page. silent_bugs.png is the picture that
`python examples/silent_bugs.py` writes.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import tensorgrad
from micrograd import Value
from tensorgrad.models import GPT, GPTConfig
from viz import draw, draw_profile, draw_run, profile, step

HERE = Path(__file__).parent


def main() -> None:
    """Write graph.png; the stepper page as it opens, at the step that makes its point, as stepper.png; run.png, a run
    with one of the silent bugs; depth.png, precision.png and precision_training.png of the two labs; memory_time.png;
    profile.png.

    Takes some minutes, since it trains.
    """
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    L = (a * b + c).relu() * a
    L.backward()
    draw(L, HERE / "graph.png")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "step.html"
        step(L, page, title="relu(a*b + c)*a")
        screenshot(page.as_uri(), HERE / "stepper.png")
        run = Path(folder) / "no-positions"
        example(folder, "char_gpt.py", "--bug", "detached-positions", "--steps", "120", "--folder", str(run))
        draw_run(run / "monitor.jsonl", HERE / "run.png")
        example(folder, "char_gpt.py")  # the model whose gradients precision.py takes; its path is in the picture
        example(folder, "precision.py", "runs/char-gpt/checkpoint.npz", "-o", str(HERE / "precision.png"))
        example(folder, "precision.py", "--train", "-o", str(HERE / "precision_training.png"))
        example(folder, "depth.py", "--seeds", "1", "-o", str(HERE / "depth.png"))
        memory_time(folder)
    where_time_goes()


def where_time_goes() -> None:
    """profile.png, of a GPT of the size that examples/char_gpt.py trains. Nothing else should run on the machine."""
    tensorgrad.manual_seed(0)
    model = GPT(GPTConfig(vocabulary=103, context=64, blocks=4, heads=4, width=128))
    tokens, targets = tensorgrad.randint(0, 103, (2, 12, 64))
    draw_profile(profile(lambda: model.loss(tokens, targets), repeats=20, model=model), HERE / "profile.png")


def example(folder: str, script: str, *options: str) -> None:
    """Run one of the examples in a folder."""
    subprocess.run([sys.executable, HERE.parent / script, *options], cwd=folder, check=True)


def memory_time(folder: str) -> None:
    """memory_time.png, for which nothing else should run on the machine. By itself:
    python examples/gpt2_memory.py --picture examples/pictures/memory_time.png"""
    example(folder, "gpt2_memory.py", "--picture", str(HERE / "memory_time.png"))


def screenshot(address: str, path: Path) -> None:
    """What a window of 1280 by 660 shows of the page at `address`, in the Chromium on PATH."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 660}, color_scheme="light", reduced_motion="reduce")
        tab.goto(address)
        tab.wait_for_selector("#stage .node")
        tab.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    main()
