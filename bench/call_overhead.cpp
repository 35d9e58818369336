// SPDX-License-Identifier: Apache-2.0
// What a run through libtilefuse.so takes beyond its kernels, and how threads with a device each
// scale.
//
//   bench_call_overhead [MODEL.onnx…]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tilefuse/tilefuse.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr std::size_t kAlign = 64; // as the library's own memory

struct Free {
  void operator()(float *data) const { operator delete[](data, std::align_val_t(kAlign)); }
};

// A model with inputs of f32 and something for them.
struct Bound {
  Bound(const tilefuse::Model &model, const tilefuse::Options &options, int threads)
      : device("cpu", {{"threads", std::to_string(threads)}}), compiled(model, device, options),
        run(compiled) {
    for (const tf_tensor_info &info : compiled.inputs()) {
      const std::vector<std::int64_t> shape(info.shape, info.shape + info.rank);
      std::size_t count = 1;
      for (const std::int64_t size : shape)
        count *= static_cast<std::size_t>(size);
      inputs.emplace_back(new (std::align_val_t(kAlign)) float[count]);
      std::fill_n(inputs.back().get(), count, 0.5f);
      run.input(inputs.size() - 1, tilefuse::view(inputs.back().get(), shape));
    }
    run.execute();
  }
  tilefuse::Device device;
  tilefuse::Compiled compiled;
  tilefuse::Run run;
  std::vector<std::unique_ptr<float[], Free>> inputs;
};

// What a tenth of them do not exceed: of a machine that others use, too.
double tenth(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 10);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// What tf_time() says of it: kernels sent and waited for, nothing else.
double kernels_seconds(const Bound &bound, int repeat) {
  const std::string json = bound.run.time(repeat);
  return std::stod(json.substr(json.find("\"p10\":") + 6));
}

void overhead(const char *name, Bound &bound, int repeat) {
  std::vector<double> calls;
  std::vector<double> kernels;
  for (int round = 0; round < 9; ++round) {
    kernels.push_back(kernels_seconds(bound, repeat));
    std::vector<double> times;
    for (int i = 0; i < repeat; ++i) {
      const Clock::time_point begin = Clock::now();
      bound.run.execute();
      times.push_back(seconds_since(begin));
    }
    calls.push_back(tenth(times));
  }
  std::printf("%-24s a run %9.2f us, its kernels %9.2f us, overhead %6.2f us\n", name,
              tenth(calls) * 1e6, tenth(kernels) * 1e6, (tenth(calls) - tenth(kernels)) * 1e6);
}

// Runs per second of `count` threads with a device of one thread each.
double rate(const tilefuse::Model &model, int count, int repeat) {
  std::vector<std::unique_ptr<Bound>> all;
  for (int t = 0; t < count; ++t)
    all.push_back(std::make_unique<Bound>(model, tilefuse::Options{{"batch", "1"}}, 1));
  const Clock::time_point begin = Clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < repeat; ++i)
        all[static_cast<std::size_t>(t)]->run.execute();
    });
  for (std::thread &thread : threads)
    thread.join();
  return count * repeat / seconds_since(begin);
}

} // namespace

int main(int argc, char **argv) try {
  const tilefuse::Model one = tilefuse::Model::tile("function one(X[N]) -> (Y) { Y = 2 * X; }");
  Bound kernel(one, {{"shape.X", "64"}, {"type.X", "f32"}}, 1);
  overhead("one kernel, 64 elements", kernel, 2000);
  for (int i = 1; i < argc; ++i) {
    const tilefuse::Model model = tilefuse::Model::read(argv[i]);
    Bound bound(model, {{"batch", "1"}}, 0);
    overhead("the model", bound, 100);
    const double alone = rate(model, 1, 50);
    for (const int threads : {2, 8})
      std::printf("%d threads, a device each    %.2fx the runs of one\n", threads,
                  rate(model, threads, 50) / alone);
  }
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "bench_call_overhead: %s\n", error.what());
  return 1;
}
