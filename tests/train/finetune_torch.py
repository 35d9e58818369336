#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning by PyTorch with the recipe of docs/lab/2026-11-fine-tuning.md, which tilefuse's accuracy is compared with.

    finetune_torch.py MODEL TRAIN.bin.gz TEST.bin.gz EPOCHS SEED

CIFAR's binary files, gzipped. Batch 128, SGD with Nesterov momentum 0.9, rate 0.02 falling by a cosine, decay 1e-4, borders of 4
zeros of which a window is drawn, half of the pictures mirrored. Prints the accuracy on the test set before and after each epoch.
Needs numpy, onnx and torch.
"""
import gzip
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from make_curves import Network

BATCH, RATE, MOMENTUM, DECAY, BORDER = 128, 0.02, 0.9, 1e-4, 4
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def read(path):
    records = np.frombuffer(gzip.open(path).read(), np.uint8).reshape(-1, 3073)
    pictures = torch.tensor(records[:, 1:].reshape(-1, 3, 32, 32)).float() / 255
    mean, std = (torch.tensor(values).reshape(1, 3, 1, 1) for values in (MEAN, STD))
    return (pictures - mean) / std, torch.tensor(records[:, 0].astype(np.int64))


def accuracy(network, pictures, labels):
    network.is_training = False
    with torch.no_grad():
        hits = sum((network(x).argmax(1) == y).sum().item() for x, y in zip(pictures.split(500), labels.split(500)))
    network.is_training = True
    return hits / len(labels)


def augmented(pictures, random):
    """A window of each at a place of its own, half of them mirrored; zeros are black before the mean is taken off."""
    black = (-torch.tensor(MEAN) / torch.tensor(STD)).reshape(1, 3, 1, 1)
    wide = F.pad(pictures - black, [BORDER] * 4) + black
    places = torch.randint(0, 2 * BORDER + 1, (len(pictures), 2), generator=random)
    mirrored = torch.rand(len(pictures), generator=random) < 0.5
    windows = [w[:, y:y + 32, x:x + 32] for w, (y, x) in zip(wide, places.tolist())]
    return torch.stack([w.flip(2) if m else w for w, m in zip(windows, mirrored)])


def main():
    model, training, test, epochs, seed = sys.argv[1:4] + [int(word) for word in sys.argv[4:6]]
    network, (pictures, labels), judged = Network(model, torch.float32), read(training), read(test)
    weights, random = list(network.parameters.values()), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(weights, lr=RATE, momentum=MOMENTUM, weight_decay=DECAY, nesterov=True)
    steps = len(labels) // BATCH
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * steps)
    print(f"PyTorch {torch.__version__}, seed {seed}: before {accuracy(network, *judged):.4f}", flush=True)
    for epoch in range(epochs):
        begin, total = time.time(), 0.0
        order = torch.randperm(len(labels), generator=random)
        for step in range(steps):
            chosen = order[step * BATCH:(step + 1) * BATCH]
            loss = F.cross_entropy(network(augmented(pictures[chosen], random)), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / steps:.4f}, test {accuracy(network, *judged):.4f}, "
              f"{time.time() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
