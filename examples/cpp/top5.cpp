// SPDX-License-Identifier: Apache-2.0
// top5 MODEL INPUT: runs a model with one input of f32 on the elements in a file, and prints its five
// best classes.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <tilefuse/tilefuse.hpp>

namespace {

std::vector<float> read_input(const char *path, const std::vector<std::int64_t> &shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape)
    count *= static_cast<std::size_t>(size);
  std::vector<float> data(count);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char *>(data.data()), static_cast<std::streamsize>(4 * count));
  if (!file)
    throw std::runtime_error("the input is too short");
  return data;
}

void print_best(const tilefuse::Output &scores) {
  const float *of = scores.data<float>();
  std::vector<int> order(static_cast<std::size_t>(scores.elements()));
  std::iota(order.begin(), order.end(), 0);
  const auto last = order.begin() + std::min<std::ptrdiff_t>(5, scores.elements());
  std::partial_sort(order.begin(), last, order.end(), [&](int a, int b) { return of[a] > of[b]; });
  for (auto it = order.begin(); it != last; ++it)
    std::printf("%d %d %.6g\n", static_cast<int>(it - order.begin()) + 1, *it, of[*it]);
}

} // namespace

int main(int argc, char **argv) try {
  if (argc != 3)
    return std::fprintf(stderr, "usage: top5 MODEL INPUT\n"), 1;
  const tilefuse::Compiled compiled(tilefuse::Model::read(argv[1]), tilefuse::Device(),
                                    {{"batch", "1"}});
  const tf_tensor_info input = compiled.inputs()[0];
  const std::vector<std::int64_t> shape(input.shape, input.shape + input.rank);
  std::vector<float> image = read_input(argv[2], shape);
  tilefuse::Run run(compiled);
  run.input(0, tilefuse::view(image.data(), shape));
  run.execute();
  print_best(run.output(0));
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "top5: %s\n", error.what());
  return 1;
}
