# SPDX-License-Identifier: Apache-2.0
"""Architectures of the package ultralytics (8.4.190, which needs no display as ultralytics-opencv-headless), as its exporter writes
them: boxes in pixels beside the classes' scores, [1, 4 + classes, positions]."""
import warnings

import torch

SMALL = """yolov8n yolov8n_pose""".split()
OTHERS = """yolov8n_seg yolov8n_obb yolov5nu yolov10n yolo11n rtdetr_resnet50""".split()
SIZES = {"rtdetr_resnet50": 160}


def make(name):
    """The architecture with random weights, and its arguments."""
    from ultralytics.nn import tasks
    kinds = {"pose": tasks.PoseModel, "seg": tasks.SegmentationModel, "obb": tasks.OBBModel}
    kind = tasks.RTDETRDetectionModel if name.startswith("rtdetr") else kinds.get(name.split("_")[-1], tasks.DetectionModel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(name.replace("_", "-").removesuffix("u") + ".yaml", verbose=False).eval()
    head = model.model[-1]
    head.export, head.format = True, "onnx"
    size = SIZES.get(name, 96)
    return model, (torch.rand(1, 3, size, size),)
