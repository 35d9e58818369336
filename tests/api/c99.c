/* SPDX-License-Identifier: Apache-2.0 */
/* tilefuse.h is C99: this compiles. */
#include "tilefuse/tilefuse.h"

tf_status run_one(tf_run *run, const DLTensor *image, DLTensor *scores);

tf_status run_one(tf_run *run, const DLTensor *image, DLTensor *scores) {
  tf_status status = tf_run_input(run, 0, image);
  if (status == TF_OK)
    status = tf_run_execute(run);
  return status == TF_OK ? tf_run_output(run, 0, scores) : status;
}
