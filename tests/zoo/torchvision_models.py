# SPDX-License-Identifier: Apache-2.0
"""Architectures of Debian's torchvision (0.14): classifiers at 96 pixels where they take any size, of video too, segmentation,
optical flow, and detectors with their post-processing."""
import torch
import torchvision.models as models

SMALL = """mnasnet1_0 mobilenet_v2 mobilenet_v3_small resnet18 shufflenet_v2_x1_0 squeezenet1_1 lraspp_mobilenet_v3_large""".split()
OTHERS = """convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t mobilenet_v3_large
regnet_x_400mf regnet_y_400mf resnet50 resnext50_32x4d wide_resnet50_2 swin_t deeplabv3_resnet50
mnasnet0_5 shufflenet_v2_x0_5 vgg11_bn r3d_18 mc3_18 r2plus1d_18 s3d
deeplabv3_mobilenet_v3_large fcn_resnet50 raft_small fcos_resnet50_fpn maskrcnn_resnet50_fpn ssd300_vgg16
ssdlite320_mobilenet_v3_large keypointrcnn_resnet50_fpn""".split()
SIZES = {"inception_v3": 299, "maxvit_t": 224, "swin_t": 224, "vgg11_bn": 224}
FRAMES = {"r3d_18": (8, 64), "mc3_18": (8, 64), "r2plus1d_18": (8, 56), "s3d": (16, 224)}  # and their side


class Segmentation(torch.nn.Module):
    """The class map alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, picture):
        return self.model(picture)["out"]


def make(name):
    """The architecture with random weights, and its arguments."""
    if name == "raft_small":
        return models.optical_flow.raft_small(weights=None), (torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128))
    if name in vars(models.segmentation):
        model = vars(models.segmentation)[name](weights=None, weights_backbone=None)
        return Segmentation(model), (torch.randn(1, 3, 96, 96),)
    if name in vars(models.detection):
        return vars(models.detection)[name](weights=None, weights_backbone=None), ([torch.rand(3, 160, 160)],)
    if name in FRAMES:
        frames, side = FRAMES[name]
        return models.get_model(name, weights=None), (torch.randn(1, 3, frames, side, side),)
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    size = SIZES.get(name, 96)
    return models.get_model(name, weights=None, **options), (torch.randn(1, 3, size, size),)
