// SPDX-License-Identifier: Apache-2.0
// Parameters that an exporter stored once because they held the same numbers, apart again. A network that nobody has
// trained is full of them: PyTorch writes all scales of ones and all variances of one length as one initializer, and
// names the others by Identity nodes or not at all. Trained as they stand, layers would share what they learn.
//
// Only tensors whose elements are all alike count: others that several nodes read are tied on purpose. Normalisations
// behind the same weights are one layer that is applied twice, and keep what they share.
#pragma once

namespace tilefuse::onnx_import {

struct ModelFile;

// Each gets an initializer of its own: of the name that an Identity gave it, else "RESULT/bias" after the node's result.
void separate_merged_parameters(ModelFile &file);

} // namespace tilefuse::onnx_import
