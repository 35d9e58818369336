// SPDX-License-Identifier: Apache-2.0
// One SQLite file that several processes keep and that must never be in their way: a damaged file
// is renamed to *.damaged-N with one warning and a fresh one is begun; a file that cannot be opened
// or written, or that others than the user could have written (store_trust), is a warning too, and
// the work goes on without it. Another process that holds it is waited for up to kStoreBusyMs,
// and once that was in vain no more until a write goes through.
#pragma once

#include <functional>
#include <string>

#include "runtime/store/sqlite.h"

namespace tilefuse::runtime {

constexpr int kStoreBusyMs = 2000; // how long other writers are waited for
constexpr int kStoreOpenMs = 20;   // the same of one try to open, of which there are several

class StoreFile {
public:
  using Warn = std::function<void(const std::string &)>;
  struct Owner {
    std::string what;      // "kernel cache"
    std::string otherwise; // what happens without it: "kernels are compiled anew at each start"
    // Makes the connection, which waits kStoreOpenMs for others, and its statements.
    std::function<void(const std::string &path)> open;
    std::function<void()> close;           // drops them
    std::function<void(int busy_ms)> wait; // how long the connection waits from now on
    // Saves what can be read of a file that was set aside; the fresh one is open. May be empty.
    std::function<void(const std::string &damaged)> salvage;
  };

  // An empty path disables the file.
  StoreFile(std::string path, Owner owner, Warn warn);

  // Makes the folders and opens the file. False when it cannot be used.
  bool open();
  bool is_open() const { return is_open_; }
  const std::string &path() const { return path_; }
  // Runs an operation; a damaged file is set aside, another process that holds it is said, and
  // anything else that fails ends the file's use with a warning. True when the operation was done.
  bool guarded(const std::function<void()> &operation);
  // The same for what writes: once more when the file was damaged, since the fresh one takes it.
  bool write(const std::function<void()> &operation);
  void set_aside(const std::string &why);
  // A warning, the first one only.
  void say(const std::string &text);

private:
  void open_when_free();
  void held();
  void disable(const std::string &why);
  void reopen(const std::string &damaged);
  std::string free_name() const;

  std::string path_;
  Owner owner_;
  Warn warn_;
  bool is_open_ = false;
  bool is_held_ = false; // another process was waited for in vain
  bool warned_ = false;
};

// Rolls back unless committed.
class Transaction {
public:
  explicit Transaction(Connection &connection) : connection_(connection) {
    connection_.execute("BEGIN IMMEDIATE");
  }
  ~Transaction() {
    if (!done_)
      sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction &) = delete;
  Transaction &operator=(const Transaction &) = delete;
  void commit() {
    connection_.execute("COMMIT");
    done_ = true;
  }

private:
  Connection &connection_;
  bool done_ = false;
};

} // namespace tilefuse::runtime
