// SPDX-License-Identifier: Apache-2.0
// One SQLite file that several processes keep and that must never be in their way: a damaged file
// is renamed to *.damaged-N with one warning and a fresh one is begun; a file that cannot be opened
// or written is a warning too, and the work goes on without it.
#pragma once

#include <functional>
#include <string>

#include "runtime/store/sqlite.h"

namespace tilefuse::runtime {

constexpr int kStoreBusyMs = 5000; // how long a statement waits for other writers

class StoreFile {
public:
  using Warn = std::function<void(const std::string &)>;
  struct Owner {
    std::string what;      // "kernel cache"
    std::string otherwise; // what happens without it: "kernels are compiled anew at each start"
    std::function<void(const std::string &path)> open; // makes the connection and its statements
    std::function<void()> close;                       // drops them
    // Saves what can be read of a file that was set aside; the fresh one is open. May be empty.
    std::function<void(const std::string &damaged)> salvage;
  };

  // An empty path disables the file.
  StoreFile(std::string path, Owner owner, Warn warn);

  // Makes the folders and opens the file. False when it cannot be used.
  bool open();
  bool is_open() const { return is_open_; }
  const std::string &path() const { return path_; }
  // Runs an operation; a damaged file is set aside, and anything else that fails ends the file's
  // use with a warning, save that another writer holds it. True when the operation was done.
  bool guarded(const std::function<void()> &operation);
  void set_aside(const std::string &why);
  // A warning, the first one only.
  void say(const std::string &text);

private:
  void open_when_free();
  void disable(const std::string &why);
  void reopen(const std::string &damaged);
  std::string free_name() const;

  std::string path_;
  Owner owner_;
  Warn warn_;
  bool is_open_ = false;
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
