// SPDX-License-Identifier: Apache-2.0
// isl's sets and relations as values, for the sources of poly/ alone. Every thread has a context of
// its own, and every call is counted. Work runs under a Quota of isl's own operation counter: past
// it each object comes out null, null stays null, and a question about it has no answer, so that a
// plan is given up without a failure.
//
//   const Quota quota(100000);
//   const Relation tile_needs = tiles.reversed().then(reads);
//   if (tile_needs.is_empty() == std::nullopt) …  // the quota did not suffice
#pragma once

#include <isl/ctx.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilefuse::poly {

// The context of this thread. It lives as long as the thread.
isl_ctx *isl_context();
// One more call into isl by this thread; returns what it is given.
template <class T> T counted(T result);
// The text, which is freed; empty for null.
std::string taken(char *text);
// Calls into isl that this thread has made so far.
std::int64_t &isl_calls();

template <class T> T counted(T result) {
  ++isl_calls();
  return result;
}

// While it lives, isl may spend `operations` on this thread. Quotas do not nest.
class Quota {
public:
  explicit Quota(std::int64_t operations);
  ~Quota();
  Quota(const Quota &) = delete;
  Quota &operator=(const Quota &) = delete;
  bool is_exceeded() const;
};

template <auto Free> struct Freed {
  template <class T> void operator()(T *object) const { Free(object); }
};

class Relation;

// A union of sets of statement instances, tiles or tensor elements.
class Points {
public:
  Points() = default;
  explicit Points(isl_union_set *taken) : set_(taken) {}
  // isl's notation; null where it does not parse.
  explicit Points(const std::string &text);
  Points(const Points &other);
  Points &operator=(const Points &other);
  Points(Points &&) = default;
  Points &operator=(Points &&) = default;

  bool is_null() const { return set_ == nullptr; }
  isl_union_set *get() const { return set_.get(); }
  isl_union_set *copied() const { return isl_union_set_copy(set_.get()); }
  Points operator|(const Points &other) const;
  Points operator&(const Points &other) const;
  Points operator-(const Points &other) const;
  std::optional<bool> is_empty() const;
  std::optional<bool> is_within(const Points &other) const;
  std::optional<std::int64_t> count() const; // nothing also where there are infinitely many
  // Every point, its coordinates, in order; none where there are infinitely many.
  std::vector<std::vector<std::int64_t>> points() const;
  std::string text() const;

private:
  std::unique_ptr<isl_union_set, Freed<isl_union_set_free>> set_;
};

// A union of relations between such points.
class Relation {
public:
  Relation() = default;
  explicit Relation(isl_union_map *taken) : map_(taken) {}
  explicit Relation(const std::string &text);
  Relation(const Relation &other);
  Relation &operator=(const Relation &other);
  Relation(Relation &&) = default;
  Relation &operator=(Relation &&) = default;

  bool is_null() const { return map_ == nullptr; }
  isl_union_map *get() const { return map_.get(); }
  isl_union_map *copied() const { return isl_union_map_copy(map_.get()); }
  Relation reversed() const;
  // First this, then `next`.
  Relation then(const Relation &next) const;
  Relation from(const Points &domain) const;
  Relation into(const Points &range) const;
  Relation operator|(const Relation &other) const;
  Relation operator&(const Relation &other) const;
  Relation operator-(const Relation &other) const;
  Points domain() const;
  Points range() const;
  // The pairs as points, to count them.
  Points pairs() const;
  // The pairs (a, b) of the domain with this(a) lexicographically not before this(b).
  Relation not_before() const;
  std::optional<bool> is_empty() const;
  std::optional<bool> is_within(const Relation &other) const;
  std::optional<bool> has_single_values() const;
  // Of a relation between two spaces: extents of the box around what one point is related to, the
  // largest; empty where it is not bounded.
  std::vector<std::int64_t> range_box() const;
  std::string text() const;

private:
  std::unique_ptr<isl_union_map, Freed<isl_union_map_free>> map_;
};

} // namespace tilefuse::poly
