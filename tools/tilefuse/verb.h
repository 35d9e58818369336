// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line: each adds itself to the program and runs in its callback, throwing
// Error.
#pragma once

namespace CLI {
class App;
}

namespace tilefuse::tool {

void add_run(CLI::App &app);
void add_bench(CLI::App &app);
void add_devices(CLI::App &app);
void add_operators(CLI::App &app);
void add_opt(CLI::App &app);
void add_simulate(CLI::App &app);
void add_explain(CLI::App &app);
void add_fusion(CLI::App &app);
void add_fmt(CLI::App &app);
void add_verify(CLI::App &app);
void add_tune(CLI::App &app);
void add_doctor(CLI::App &app);
void add_quantize(CLI::App &app);
void add_train(CLI::App &app);
void add_data(CLI::App &app);
void add_evaluate(CLI::App &app);
void add_completion(CLI::App &app);
void add_man(CLI::App &app);
void add_help(CLI::App &app);

} // namespace tilefuse::tool
