// SPDX-License-Identifier: Apache-2.0
// A bounded map that forgets what was not used for longest. Few entries: it is searched in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tilefuse {

template <class Key, class Value> class Lru {
public:
  // Holds at most this many, and at least one.
  explicit Lru(std::size_t most) : most_(std::max<std::size_t>(most, 1)) {}

  // The value of a key, which becomes the one used last; null where there is none.
  Value *find(const Key &key) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const auto &entry) { return entry.first == key; });
    if (found == entries_.end())
      return nullptr;
    std::rotate(found, found + 1, entries_.end());
    return &entries_.back().second;
  }
  // What the next insert() drops; null: nothing.
  const Value *leaving() const {
    return entries_.size() == most_ ? &entries_.front().second : nullptr;
  }
  // Of a key that has none; drops the one not used for longest where there are too many.
  Value &insert(Key key, Value value) {
    if (entries_.size() == most_)
      entries_.erase(entries_.begin());
    return entries_.emplace_back(std::move(key), std::move(value)).second;
  }
  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }
  std::size_t most() const { return most_; }

private:
  std::size_t most_;
  std::vector<std::pair<Key, Value>> entries_; // the one used last is last
};

} // namespace tilefuse
