#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws distorted glyphs, trains a small CNN on them and writes the files of this folder.

    apt-get install python3-torch python3-pil python3-numpy fonts-dejavu-core
    /usr/bin/python3 examples/glyphs/train.py

Writes model.onnx, model.toml, labels.txt, images/*.png and images/expected.txt beside itself. Seeds are fixed.
Only this script needs torch; running the model does not.
"""
import pathlib
import time
import warnings

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent
FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
FONT_NAMES = ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf",
              "DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf"]
GLYPHS = {"A": "letter A", "B": "letter B", "E": "letter E", "G": "letter G", "H": "letter H", "K": "letter K",
          "M": "letter M", "R": "letter R", "S": "letter S", "T": "letter T", "2": "digit 2", "3": "digit 3",
          "4": "digit 4", "7": "digit 7", "8": "digit 8", "&": "ampersand", "@": "at sign", "#": "number sign",
          "?": "question mark", "%": "percent sign"}
SIZE = 32            # pixels per side of the network's input
TRAIN, TEST, EPOCHS, BATCH = 12000, 2000, 10, 64
SAMPLES = "A&7@K?3%GR#8"


def colours(rng):
    """A foreground and a background far enough apart to be read."""
    while True:
        ink, paper = rng.integers(0, 256, (2, 3))
        if abs(int(ink.sum()) - int(paper.sum())) > 200:
            return tuple(int(v) for v in ink), tuple(int(v) for v in paper)


def draw(glyph, rng, side):
    """One distorted glyph as a (side, side, 3) picture: font, size, place, rotation, shear, colours and noise vary."""
    ink, paper = colours(rng)
    font = ImageFont.truetype(str(FONTS / rng.choice(FONT_NAMES)), int(side * rng.uniform(0.55, 0.85)))
    mask = Image.new("L", (side, side), 0)
    shift = rng.uniform(-0.07, 0.07, 2) * side
    ImageDraw.Draw(mask).text((side / 2 + shift[0], side / 2 + shift[1]), glyph, fill=255, font=font, anchor="mm")
    angle, shear = np.radians(rng.uniform(-20, 20)), rng.uniform(-0.2, 0.2)
    cos, sin, mid = np.cos(angle), np.sin(angle), side / 2
    a, b, d, e = cos + shear * sin, -sin + shear * cos, sin, cos
    mask = mask.transform((side, side), Image.AFFINE,
                          (a, b, mid - a * mid - b * mid, d, e, mid - d * mid - e * mid), Image.BILINEAR)
    picture = np.asarray(Image.composite(Image.new("RGB", mask.size, ink), Image.new("RGB", mask.size, paper), mask))
    noise = rng.normal(0, rng.uniform(2, 18), picture.shape)
    return Image.fromarray(np.clip(picture + noise, 0, 255).astype(np.uint8))


def dataset(count, rng):
    """`count` pictures as float32 [N, 3, SIZE, SIZE] in -1..1, and their classes."""
    classes = rng.integers(0, len(GLYPHS), count)
    pixels = np.empty((count, 3, SIZE, SIZE), np.float32)
    for i, k in enumerate(classes):
        picture = draw(list(GLYPHS)[k], rng, 2 * SIZE).resize((SIZE, SIZE), Image.BILINEAR)
        pixels[i] = np.asarray(picture, np.float32).transpose(2, 0, 1) / 127.5 - 1
    return torch.from_numpy(pixels), torch.from_numpy(classes.astype(np.int64))


def conv(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU())


class GlyphNet(nn.Module):
    """Convolutions dense, depthwise and pointwise, a residual block, a concatenation and a free BatchNorm."""

    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 16, 3), nn.MaxPool2d(2))
        self.separable = nn.Sequential(conv(16, 16, 3, groups=16), conv(16, 32, 1))
        self.residual = nn.Sequential(conv(32, 32, 3), conv(32, 32, 3))
        self.wide = conv(32, 24, 3, stride=2)
        self.narrow = nn.Sequential(nn.MaxPool2d(2), conv(32, 24, 1))
        self.norm = nn.BatchNorm2d(48)
        self.head = nn.Sequential(conv(48, 64, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))

    def forward(self, x):
        x = self.separable(self.stem(x))
        x = x + self.residual(x)
        x = torch.relu(self.norm(torch.cat([self.wide(x), self.narrow(x)], 1)))
        return self.head(x)


def train(net, pixels, classes):
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    steps = EPOCHS * (len(pixels) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 6e-3, total_steps=steps)
    for epoch in range(EPOCHS):
        order, total, begin = torch.randperm(len(pixels)), 0.0, time.time()
        for i in range(0, len(pixels) - BATCH + 1, BATCH):
            pick = order[i:i + BATCH]
            loss = nn.functional.cross_entropy(net(pixels[pick]), classes[pick])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += float(loss)
        print(f"epoch {epoch + 1:2d}  loss {total * BATCH / len(pixels):.4f}  {time.time() - begin:.1f} s", flush=True)


def accuracy(net, pixels, classes):
    with torch.no_grad():
        return float((net(pixels).argmax(1) == classes).float().mean())


def export(net):
    """ONNX opset 13 with a symbolic batch and the softmax in the graph."""
    whole = nn.Sequential(net, nn.Softmax(dim=1)).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(whole, torch.zeros(1, 3, SIZE, SIZE), str(FOLDER / "model.onnx"), opset_version=13,
                          input_names=["image"], output_names=["probability"],
                          dynamic_axes={"image": {0: "N"}, "probability": {0: "N"}})


def write_samples(net, rng):
    """Pictures that the network has not seen, four times its input's size, and the label each should get."""
    (FOLDER / "images").mkdir(exist_ok=True)
    rows = []
    for i, glyph in enumerate(SAMPLES):
        name, label = f"{i + 1:02d}.png", GLYPHS[glyph]
        draw(glyph, rng, 4 * SIZE).quantize(64).save(FOLDER / "images" / name, optimize=True)
        rows.append(f"{name}\t{label}\n")
    (FOLDER / "images" / "expected.txt").write_text("".join(rows))


TOML = """# SPDX-License-Identifier: Apache-2.0
# How a picture becomes this model's input; found because it bears the model's name.
size = "32x32"
order = "rgb"
scale = "1/127.5"   # value = pixel * scale - mean
mean = [1.0, 1.0, 1.0]
labels = "labels.txt"
"""


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    begin = time.time()
    pixels, classes = dataset(TRAIN, np.random.default_rng(1))
    test_pixels, test_classes = dataset(TEST, np.random.default_rng(2))
    print(f"{TRAIN} + {TEST} pictures drawn in {time.time() - begin:.1f} s", flush=True)
    net = GlyphNet(len(GLYPHS))
    train(net, pixels, classes)
    net.eval()
    print(f"accuracy {100 * accuracy(net, test_pixels, test_classes):.2f} % on {TEST} unseen pictures, "
          f"{sum(p.numel() for p in net.parameters())} parameters, {time.time() - begin:.0f} s")
    export(net)
    (FOLDER / "labels.txt").write_text("".join(f"{label}\n" for label in GLYPHS.values()))
    (FOLDER / "model.toml").write_text(TOML)
    write_samples(net, np.random.default_rng(3))


if __name__ == "__main__":
    main()
