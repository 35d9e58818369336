// SPDX-License-Identifier: Apache-2.0
// `tilefuse opt`: any level in, any later level out.
#pragma once

namespace CLI {
class App;
}

namespace tilefuse::tool {

void add_opt(CLI::App& app);

}  // namespace tilefuse::tool
