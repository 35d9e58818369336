// SPDX-License-Identifier: Apache-2.0
// The module tilefuse_mpi: the only thing that MPI is linked into. Rows are those of mpi.h.
#include "runtime/workers/mpi_module.h"

#include <mpi.h>

namespace {

MPI_Datatype row_type = MPI_DATATYPE_NULL;

} // namespace

#define TILEFUSE_MODULE extern "C" __attribute__((visibility("default")))

TILEFUSE_MODULE int tilefuse_mpi_interface() { return tilefuse::runtime::kMpiInterface; }

TILEFUSE_MODULE int tilefuse_mpi_start(int *rank, int *count) {
  int is_started = 0;
  int code = MPI_Initialized(&is_started);
  if (code == MPI_SUCCESS && is_started == 0)
    code = MPI_Init(nullptr, nullptr);
  if (code == MPI_SUCCESS)
    code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS)
    code = MPI_Type_contiguous(tilefuse::runtime::kMpiRow, MPI_BYTE, &row_type);
  if (code == MPI_SUCCESS)
    code = MPI_Type_commit(&row_type);
  if (code == MPI_SUCCESS)
    code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return code == MPI_SUCCESS ? MPI_Comm_size(MPI_COMM_WORLD, count) : code;
}

TILEFUSE_MODULE void tilefuse_mpi_end() {
  MPI_Type_free(&row_type);
  MPI_Finalize();
}

TILEFUSE_MODULE int tilefuse_mpi_broadcast(void *bytes, int count) {
  return MPI_Bcast(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

TILEFUSE_MODULE int tilefuse_mpi_swap_parts(const void *from, void *to, int rows) {
  return MPI_Alltoall(from, rows, row_type, to, rows, row_type, MPI_COMM_WORLD);
}

TILEFUSE_MODULE int tilefuse_mpi_gather_parts(void *all, int rows) {
  return MPI_Allgather(MPI_IN_PLACE, 0, row_type, all, rows, row_type, MPI_COMM_WORLD);
}

TILEFUSE_MODULE int tilefuse_mpi_sum(float *all, int elems) {
  return MPI_Allreduce(MPI_IN_PLACE, all, elems, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

TILEFUSE_MODULE void tilefuse_mpi_describe(int code, char *text, int bytes) {
  char whole[MPI_MAX_ERROR_STRING] = "";
  int size = 0;
  MPI_Error_string(code, whole, &size);
  int i = 0;
  for (; i + 1 < bytes && i < size; ++i)
    text[i] = whole[i];
  text[i] = '\0';
}
