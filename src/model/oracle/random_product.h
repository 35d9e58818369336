// SPDX-License-Identifier: Apache-2.0
// Random nests that matrix instructions compute: convolutions with channels innermost or in blocks,
// their gradients, matrix products with operands in either order, in types that tensor cores take.
#pragma once

#include "base/random.h"
#include "nest/nest.h"

namespace tilefuse::model {

nest::Nest random_product(Random &random);

} // namespace tilefuse::model
