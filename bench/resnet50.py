# SPDX-License-Identifier: Apache-2.0
"""The layers of bench/layers.cpp."""
# name, channels, size, outputs, kernel, stride, padding: bench/layers.cpp
LAYERS = [("conv1", 3, 224, 64, 7, 2, 3), ("res2_1x1a", 64, 56, 64, 1, 1, 0), ("res2_3x3", 64, 56, 64, 3, 1, 1),
          ("res2_1x1c", 64, 56, 256, 1, 1, 0), ("res2_1x1b", 256, 56, 64, 1, 1, 0), ("res3_down", 256, 56, 512, 1, 2, 0),
          ("res3_1x1a", 256, 56, 128, 1, 1, 0), ("res3_3x3s2", 128, 56, 128, 3, 2, 1), ("res3_1x1c", 128, 28, 512, 1, 1, 0),
          ("res3_1x1b", 512, 28, 128, 1, 1, 0), ("res3_3x3", 128, 28, 128, 3, 1, 1), ("res4_down", 512, 28, 1024, 1, 2, 0),
          ("res4_1x1a", 512, 28, 256, 1, 1, 0), ("res4_3x3s2", 256, 28, 256, 3, 2, 1), ("res4_1x1c", 256, 14, 1024, 1, 1, 0),
          ("res4_1x1b", 1024, 14, 256, 1, 1, 0), ("res4_3x3", 256, 14, 256, 3, 1, 1), ("res5_down", 1024, 14, 2048, 1, 2, 0),
          ("res5_1x1a", 1024, 14, 512, 1, 1, 0), ("res5_3x3s2", 512, 14, 512, 3, 2, 1), ("res5_1x1c", 512, 7, 2048, 1, 1, 0),
          ("res5_1x1b", 2048, 7, 512, 1, 1, 0), ("res5_3x3", 512, 7, 512, 3, 1, 1)]
# With what bench/odd_layers.py has besides: name, dimensions, channels, size, outputs, kernel, stride, dilation, padding, groups
GENERAL = [(name, 2, channels, size, outputs, kernel, stride, 1, padding, 1)
           for name, channels, size, outputs, kernel, stride, padding in LAYERS]
