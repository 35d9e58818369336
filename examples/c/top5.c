/* SPDX-License-Identifier: Apache-2.0 */
/* top5 MODEL INPUT: runs a model with one input of f32 on the elements in a file, and prints its five best classes. */
#include <stdio.h>
#include <stdlib.h>

#include <tilefuse/tilefuse.h>

static void check(tf_status status) {
  if (status == TF_OK)
    return;
  fprintf(stderr, "top5: %s: %s\n", tf_status_name(status), tf_error_message());
  exit(1);
}

/* The elements of an input whose sizes are all known. */
static float *read_input(const char *path, const tf_tensor_info *info, size_t *count) {
  float *data;
  FILE *file = fopen(path, "rb");
  int32_t d;
  *count = 1;
  for (d = 0; d < info->rank; ++d)
    *count *= (size_t)info->shape[d];
  data = malloc(*count * sizeof *data);
  if (file == NULL || data == NULL || fread(data, sizeof *data, *count, file) != *count) {
    fprintf(stderr, "top5: %s does not hold %zu elements\n", path, *count);
    exit(1);
  }
  fclose(file);
  return data;
}

static void print_best(float *scores, int64_t count) {
  int rank;
  for (rank = 1; rank <= 5 && rank <= count; ++rank) {
    int64_t best = 0, i;
    for (i = 1; i < count; ++i)
      if (scores[i] > scores[best])
        best = i;
    printf("%d %lld %.6g\n", rank, (long long)best, (double)scores[best]);
    scores[best] = -1e30f;
  }
}

int main(int argc, char **argv) {
  const tf_option options[] = {{"batch", "1"}};
  const tf_tensor_info *inputs;
  tf_device *device;
  tf_model *model;
  tf_compiled *compiled;
  tf_run *run;
  DLTensor image = {0}, scores;
  size_t count;
  int64_t classes = 1;
  int32_t d;
  if (argc != 3)
    return fprintf(stderr, "usage: top5 MODEL INPUT\n"), 1;
  check(tf_device_open(NULL, NULL, 0, NULL, &device));
  check(tf_model_read(argv[1], &model));
  check(tf_compile(model, device, options, 1, NULL, NULL, &compiled));
  check(tf_compiled_inputs(compiled, &inputs, &count));
  image.data = read_input(argv[2], &inputs[0], &count);
  image.device.device_type = kDLCPU;
  image.dtype = inputs[0].type;
  image.ndim = inputs[0].rank;
  image.shape = (int64_t *)inputs[0].shape;
  check(tf_run_create(compiled, &run));
  check(tf_run_input(run, 0, &image));
  check(tf_run_execute(run));
  check(tf_run_output(run, 0, &scores));
  for (d = 0; d < scores.ndim; ++d)
    classes *= scores.shape[d];
  print_best(scores.data, classes);
  tf_release(run);
  tf_release(compiled);
  tf_release(model);
  tf_release(device);
  free(image.data);
  return 0;
}
