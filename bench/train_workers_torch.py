#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of ResNet-50 by PyTorch on several GPUs, the peer of `tilefuse train --workers`: DistributedDataParallel
over NCCL, otherwise as bench/train_torch.py.

    bench/train_workers_torch.py WORKERS [BATCH [TYPE]]      batch per GPU, 128; float16 with a loss scaler, or bfloat16

CSV: workers, batch per GPU, median, 10th and 90th percentile of 40 steps in milliseconds, of rank 0. A step is timed with its
copy of random pictures, u8, to the GPU, as tilefuse's are.
"""
import os
import socket
import sys
import time

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

import torch
import torchvision

WARM, STEPS = 10, 40


def train(rank, workers, batch, dtype, port):
    torch.backends.cudnn.benchmark = True
    torch.cuda.set_device(rank)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("nccl", rank=rank, world_size=workers)
    model = torchvision.models.resnet50(weights=None).cuda().to(memory_format=torch.channels_last)
    if workers > 1:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4, fused=True)
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
    pictures = torch.randint(0, 256, (batch, 3, 224, 224), dtype=torch.uint8).contiguous(
        memory_format=torch.channels_last).pin_memory()
    labels = torch.randint(0, 1000, (batch,)).pin_memory()

    def step():
        images = pictures.cuda(non_blocking=True).float() / 255
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype):
            loss = torch.nn.functional.cross_entropy(model(images), labels.cuda(non_blocking=True))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    times = []
    for n in range(WARM + STEPS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        if n >= WARM:
            times.append((time.perf_counter() - begin) * 1e3)
    times.sort()
    if rank == 0:
        print("{},{},{:.3f},{:.3f},{:.3f}".format(workers, batch, times[STEPS // 2], times[STEPS // 10],
                                                  times[STEPS * 9 // 10]), flush=True)
    torch.distributed.destroy_process_group()


def main():
    workers = int(sys.argv[1])
    batch = int(sys.argv[2]) if len(sys.argv) > 2 else 128
    dtype = getattr(torch, sys.argv[3] if len(sys.argv) > 3 else "float16")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print("workers,batch,ms,p10_ms,p90_ms", flush=True)
    torch.multiprocessing.spawn(train, (workers, batch, dtype, port), nprocs=workers)


if __name__ == "__main__":
    main()
