// SPDX-License-Identifier: Apache-2.0
#include "poly/isl/isl_objects.h"

#include <isl/ctx.h>
#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <cstdlib>

namespace tilefuse::poly {
namespace {

struct ThreadContext {
  isl_ctx *context = isl_ctx_alloc();
  std::int64_t calls = 0;
  ThreadContext() { isl_options_set_on_error(context, ISL_ON_ERROR_CONTINUE); }
  ~ThreadContext() { isl_ctx_free(context); }
  ThreadContext(const ThreadContext &) = delete;
  ThreadContext &operator=(const ThreadContext &) = delete;
};

ThreadContext &this_thread() {
  thread_local ThreadContext context;
  return context;
}

std::optional<bool> answer(isl_bool value) {
  if (value == isl_bool_error)
    return std::nullopt;
  return value == isl_bool_true;
}

// Frees them; empty where one is not a number.
std::vector<std::int64_t> numbers(isl_multi_val *values) {
  std::vector<std::int64_t> all;
  const int count = values == nullptr ? 0 : isl_multi_val_size(values);
  for (int i = 0; i < count; ++i) {
    isl_val *value = isl_multi_val_get_val(values, i);
    if (isl_val_is_int(value) == isl_bool_true)
      all.push_back(isl_val_get_num_si(value));
    isl_val_free(value);
  }
  isl_multi_val_free(values);
  return static_cast<int>(all.size()) == count ? all : std::vector<std::int64_t>();
}

// The largest coordinate of a set's points.
std::optional<std::int64_t> largest(isl_set *set, int coordinate) {
  isl_val *value = counted(isl_set_dim_max_val(isl_set_copy(set), coordinate));
  std::optional<std::int64_t> most;
  if (value != nullptr && isl_val_is_int(value) == isl_bool_true)
    most = isl_val_get_num_si(value);
  isl_val_free(value);
  return most;
}

isl_stat add_count(isl_set *set, void *user) {
  auto &sum = *static_cast<std::optional<std::int64_t> *>(user);
  isl_val *value = counted(isl_set_count_val(set));
  isl_set_free(set);
  if (sum && value != nullptr && isl_val_is_int(value) == isl_bool_true)
    *sum += isl_val_get_num_si(value);
  else
    sum = std::nullopt;
  isl_val_free(value);
  return sum ? isl_stat_ok : isl_stat_error;
}

isl_stat add_point(isl_point *point, void *user) {
  auto &all = *static_cast<std::vector<std::vector<std::int64_t>> *>(user);
  isl_multi_val *values = counted(isl_point_get_multi_val(point));
  isl_point_free(point);
  all.push_back(numbers(values));
  return isl_stat_ok;
}

} // namespace

std::string taken(char *text) {
  std::string copy = text == nullptr ? "" : text;
  std::free(text);
  return copy;
}

isl_ctx *isl_context() { return this_thread().context; }

std::int64_t &isl_calls() { return this_thread().calls; }

Quota::Quota(std::int64_t operations) {
  isl_ctx_reset_operations(isl_context());
  isl_ctx_set_max_operations(isl_context(), static_cast<unsigned long>(operations));
}

Quota::~Quota() {
  isl_ctx_set_max_operations(isl_context(), 0);
  isl_ctx_reset_error(isl_context());
  isl_ctx_reset_operations(isl_context());
}

bool Quota::is_exceeded() const { return isl_ctx_last_error(isl_context()) == isl_error_quota; }

Points::Points(const std::string &text)
    : set_(counted(isl_union_set_read_from_str(isl_context(), text.c_str()))) {}

Points::Points(const Points &other) : set_(other.copied()) {}

Points &Points::operator=(const Points &other) {
  set_.reset(other.copied());
  return *this;
}

Points Points::operator|(const Points &other) const {
  return Points(counted(isl_union_set_coalesce(isl_union_set_union(copied(), other.copied()))));
}

Points Points::operator&(const Points &other) const {
  return Points(counted(isl_union_set_intersect(copied(), other.copied())));
}

Points Points::operator-(const Points &other) const {
  return Points(counted(isl_union_set_subtract(copied(), other.copied())));
}

std::optional<bool> Points::is_empty() const {
  return answer(counted(isl_union_set_is_empty(get())));
}

std::optional<bool> Points::is_within(const Points &other) const {
  return answer(counted(isl_union_set_is_subset(get(), other.get())));
}

std::optional<std::int64_t> Points::count() const {
  std::optional<std::int64_t> sum = 0;
  if (is_null() || isl_union_set_foreach_set(get(), add_count, &sum) != isl_stat_ok)
    return std::nullopt;
  return sum;
}

std::vector<std::vector<std::int64_t>> Points::points() const {
  std::vector<std::vector<std::int64_t>> all;
  if (is_null() || !count() || isl_union_set_foreach_point(get(), add_point, &all) != isl_stat_ok)
    return {};
  std::sort(all.begin(), all.end());
  return all;
}

std::string Points::text() const { return taken(counted(isl_union_set_to_str(get()))); }

Relation::Relation(const std::string &text)
    : map_(counted(isl_union_map_read_from_str(isl_context(), text.c_str()))) {}

Relation::Relation(const Relation &other) : map_(other.copied()) {}

Relation &Relation::operator=(const Relation &other) {
  map_.reset(other.copied());
  return *this;
}

Relation Relation::reversed() const { return Relation(counted(isl_union_map_reverse(copied()))); }

Relation Relation::then(const Relation &next) const {
  return Relation(
      counted(isl_union_map_coalesce(isl_union_map_apply_range(copied(), next.copied()))));
}

Relation Relation::from(const Points &domain) const {
  return Relation(counted(isl_union_map_intersect_domain(copied(), domain.copied())));
}

Relation Relation::into(const Points &range) const {
  return Relation(counted(isl_union_map_intersect_range(copied(), range.copied())));
}

Relation Relation::operator|(const Relation &other) const {
  return Relation(counted(isl_union_map_coalesce(isl_union_map_union(copied(), other.copied()))));
}

Relation Relation::operator&(const Relation &other) const {
  return Relation(counted(isl_union_map_intersect(copied(), other.copied())));
}

Relation Relation::operator-(const Relation &other) const {
  return Relation(counted(isl_union_map_subtract(copied(), other.copied())));
}

Points Relation::domain() const { return Points(counted(isl_union_map_domain(copied()))); }

Points Relation::range() const { return Points(counted(isl_union_map_range(copied()))); }

Points Relation::pairs() const { return Points(counted(isl_union_map_wrap(copied()))); }

Relation Relation::not_before() const {
  return Relation(counted(isl_union_map_lex_ge_union_map(copied(), copied())));
}

std::optional<bool> Relation::is_empty() const {
  return answer(counted(isl_union_map_is_empty(get())));
}

std::optional<bool> Relation::is_within(const Relation &other) const {
  return answer(counted(isl_union_map_is_subset(get(), other.get())));
}

std::optional<bool> Relation::has_single_values() const {
  return answer(counted(isl_union_map_is_single_valued(get())));
}

std::vector<std::int64_t> Relation::range_box() const {
  isl_map *map = counted(isl_map_from_union_map(copied()));
  isl_map *between = counted(isl_map_apply_range(isl_map_reverse(isl_map_copy(map)), map));
  isl_set *distances = counted(isl_map_deltas(between));
  const int count = isl_set_dim(distances, isl_dim_set);
  std::vector<std::int64_t> sizes;
  for (int d = 0; d < count; ++d)
    if (const std::optional<std::int64_t> most = largest(distances, d))
      sizes.push_back(*most + 1);
  isl_set_free(distances);
  return static_cast<int>(sizes.size()) == count ? sizes : std::vector<std::int64_t>();
}

std::string Relation::text() const { return taken(counted(isl_union_map_to_str(get()))); }

} // namespace tilefuse::poly
