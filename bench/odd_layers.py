# SPDX-License-Identifier: Apache-2.0
"""The list of bench/gpu_odd.cpp."""
FRONT = 16  # of volumes
# name, dimensions, channels, size, outputs, kernel, stride, dilation, padding, groups
LAYERS = [("odd_channels", 2, 35, 28, 70, 3, 1, 1, 1, 1),
          ("odd_1x1", 2, 99, 28, 51, 1, 1, 1, 0, 1),
          ("even_channels", 2, 100, 28, 36, 3, 1, 1, 1, 1),
          ("groups_2", 2, 256, 28, 256, 3, 1, 1, 1, 2),
          ("groups_8", 2, 256, 28, 256, 3, 1, 1, 1, 8),
          ("groups_32", 2, 128, 56, 128, 3, 1, 1, 1, 32),
          ("depthwise", 2, 256, 28, 256, 3, 1, 1, 1, 256),
          ("window_5", 2, 64, 28, 96, 5, 1, 1, 2, 1),
          ("window_7", 2, 64, 56, 64, 7, 1, 1, 3, 1),
          ("dilated_2", 2, 256, 28, 256, 3, 1, 2, 2, 1),
          ("dilated_4", 2, 256, 28, 256, 3, 1, 4, 4, 1),
          ("stride_3", 2, 128, 57, 128, 5, 3, 1, 2, 1),
          ("line", 1, 128, 1024, 256, 9, 1, 1, 4, 1),
          ("volume", 3, 64, 28, 64, 3, 1, 1, 1, 1),
          ("first_3x3", 2, 3, 112, 64, 3, 1, 1, 1, 1),
          ("first_11x11", 2, 3, 224, 64, 11, 4, 1, 2, 1),
          ("few_channels", 2, 8, 112, 32, 3, 1, 1, 1, 1)]
