# SPDX-License-Identifier: Apache-2.0
"""Convolution with bias and ReLU in 8-bit integers by cuDNN's own interface, which PyTorch does not reach; channels last."""
import ctypes
import glob
import pathlib

import torch

NHWC, NCHW = 1, 0
FLOAT, INT8, INT32 = 0, 3, 4
CROSS_CORRELATION, RELU, NOT_PROPAGATE, TENSOR_CORES = 1, 1, 0, 1
ALGORITHMS = (1, 0)  # implicit GEMM with precomputed offsets, and without: those of integers


def library():
    """cuDNN as PyTorch has loaded it."""
    torch.backends.cudnn.version()
    packages = pathlib.Path(torch.__file__).parents[1]
    for name in [*glob.glob(str(packages / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9")), "libcudnn.so.9"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise RuntimeError("libcudnn.so.9 is not there")


class Cudnn:
    """Calls by name, each checked."""

    def __init__(self):
        self.library = library()
        self.handle = self.create("cudnnCreate")
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.call("cudnnSetStream", self.handle, stream)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} returned {status}")

    def create(self, name):
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made))
        return made

    def tensor(self, layout, kind, *shape):
        made = self.create("cudnnCreateTensorDescriptor")
        self.call("cudnnSetTensor4dDescriptor", made, layout, kind, *shape)
        return made


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def conv_relu(cudnn, batch, channels, size, outputs, kernel, stride, padding, algorithm):
    """The layer as a function of nothing; RuntimeError where the algorithm does not take it."""
    out = (size + 2 * padding - kernel) // stride + 1

    def integers(*shape):
        return torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8)
    image, weight = integers(batch, size, size, channels), integers(outputs, kernel, kernel, channels)
    result, bias = integers(batch, out, out, outputs), torch.randn(outputs, device="cuda")
    x, y = cudnn.tensor(NHWC, INT8, batch, channels, size, size), cudnn.tensor(NHWC, INT8, batch, outputs, out, out)
    b = cudnn.tensor(NCHW, FLOAT, 1, outputs, 1, 1)
    w = cudnn.create("cudnnCreateFilterDescriptor")
    cudnn.call("cudnnSetFilter4dDescriptor", w, INT8, NHWC, outputs, channels, kernel, kernel)
    conv = cudnn.create("cudnnCreateConvolutionDescriptor")
    cudnn.call("cudnnSetConvolution2dDescriptor", conv, padding, padding, stride, stride, 1, 1, CROSS_CORRELATION, INT32)
    cudnn.call("cudnnSetConvolutionMathType", conv, TENSOR_CORES)
    act = cudnn.create("cudnnCreateActivationDescriptor")
    cudnn.call("cudnnSetActivationDescriptor", act, RELU, NOT_PROPAGATE, ctypes.c_double(0))
    size_of = ctypes.c_size_t()
    cudnn.call("cudnnGetConvolutionForwardWorkspaceSize", cudnn.handle, x, w, conv, y, algorithm, ctypes.byref(size_of))
    space = torch.empty(max(1, size_of.value), dtype=torch.uint8, device="cuda")
    scale, none = ctypes.c_float(1 / 128), ctypes.c_float(0)

    def run():
        cudnn.call("cudnnConvolutionBiasActivationForward", cudnn.handle, ctypes.byref(scale), x, pointer(image), w, pointer(weight), conv,
                   algorithm, pointer(space), size_of, ctypes.byref(none), y, pointer(result), b, pointer(bias), act, y, pointer(result))
    run()
    return run


def layer_times(layer, batch, time):
    """Of the faster algorithm; nothing where cuDNN takes neither."""
    cudnn, found = Cudnn(), []
    for algorithm in ALGORITHMS:
        try:
            found.append(time(conv_relu(cudnn, batch, *layer[1:], algorithm)))
        except RuntimeError:
            continue
    cudnn.call("cudnnDestroy", cudnn.handle)
    return min(found, key=lambda times: sorted(times)[len(times) // 2], default=None)
