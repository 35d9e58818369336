// SPDX-License-Identifier: Apache-2.0
// Statements of matrix instructions and of what feeds them.
#include <utility>

#include "base/error.h"
#include "kernel/build.h"
#include "kernel/rules.h"

namespace tilefuse::kernel {
namespace {

void require(const std::string &broken_rule) { TILEFUSE_CHECK(broken_rule.empty(), broken_rule); }

} // namespace

StmtRef Builder::load_matrix(LoadMatrix load) {
  require(load_matrix_rule(kernel_, load));
  return add_stmt({load});
}

StmtRef Builder::mma(Mma mma) {
  require(mma_rule(kernel_, mma));
  return add_stmt({mma});
}

StmtRef Builder::async_copy(AsyncCopy copy) {
  require(async_copy_rule(kernel_, copy));
  std::int64_t count = 0;
  if (copy.valid != nullptr && is_constant(copy.valid, &count) && count >= copy.elems)
    copy.valid = nullptr;
  return add_stmt({copy});
}

StmtRef Builder::async_commit() { return add_stmt({AsyncCommit{}}); }

StmtRef Builder::async_wait(int pending) {
  require(async_wait_rule(pending));
  return add_stmt({AsyncWait{pending}});
}

StmtRef Builder::ticket(Ticket ticket) {
  require(ticket_rule(kernel_, ticket));
  return add_stmt({ticket});
}

StmtRef Builder::mbarrier(Mbarrier mbarrier) {
  require(mbarrier_rule(kernel_, mbarrier));
  return add_stmt({mbarrier});
}

StmtRef Builder::tensor_copy(TensorCopy copy) {
  require(tensor_copy_rule(kernel_, copy));
  return add_stmt({std::move(copy)});
}

StmtRef Builder::tensor_store(TensorStore store) {
  require(tensor_store_rule(kernel_, store));
  return add_stmt({std::move(store)});
}

StmtRef Builder::store_sync(StoreSync sync) {
  require(store_sync_rule(sync));
  return add_stmt({sync});
}

StmtRef Builder::wgmma(Wgmma wgmma) {
  require(wgmma_rule(kernel_, wgmma));
  std::int64_t accumulates = 0;
  if (wgmma.accumulate != nullptr && is_constant(wgmma.accumulate, &accumulates) &&
      accumulates != 0)
    wgmma.accumulate = nullptr;
  return add_stmt({wgmma});
}

StmtRef Builder::wgmma_sync(WgmmaSync sync) {
  require(wgmma_sync_rule(sync));
  return add_stmt({sync});
}

StmtRef Builder::register_limit(RegisterLimit limit) {
  require(register_limit_rule(limit));
  return add_stmt({limit});
}

StmtRef Builder::await_earlier() { return add_stmt({AwaitEarlier{}}); }

} // namespace tilefuse::kernel
