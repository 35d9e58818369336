// SPDX-License-Identifier: Apache-2.0
// Numbers that name places. Each space of places has a type of its own, so that a number of one is
// not taken for one of another:
//
//   enum class SlotId : int {}; // a slot of a nest
//
//   Indexed<SlotId, Slot> slots;
//   for (SlotId s : slots.ids())
//     use(slots[s]);
//
// Such a type compares and hashes; it does not add. `at` makes it, or a plain number that is not
// negative, the subscript of a container.
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace tilefuse {

// Whether a type names a place by a number: an enumeration over `int`.
template <typename T> constexpr bool is_id = false;
template <typename T>
requires std::is_enum_v<T>
constexpr bool is_id<T> = std::is_same_v<std::underlying_type_t<T>, int>;

// A type that names a place by a number.
template <typename T>
concept Id = is_id<T>;

// The number behind a name.
constexpr int to_int(Id auto id) { return static_cast<int>(id); }

// The subscript of the place with this number, or this name.
constexpr std::size_t at(std::integral auto number) { return static_cast<std::size_t>(number); }
constexpr std::size_t at(Id auto id) { return static_cast<std::size_t>(id); }

// Names of neighbouring places, in rising or falling order.
template <Id Name> class Ids {
public:
  class iterator {
  public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Name;
    using difference_type = std::ptrdiff_t;
    using pointer = const Name *;
    using reference = Name;

    constexpr iterator() = default;
    constexpr iterator(int number, int step) : number_(number), step_(step) {}
    constexpr Name operator*() const { return Name{number_}; }
    constexpr iterator &operator++() { return number_ += step_, *this; }
    constexpr iterator operator++(int) { return std::exchange(*this, {number_ + step_, step_}); }
    friend constexpr bool operator==(const iterator &, const iterator &) = default;

  private:
    int number_ = 0;
    int step_ = 1;
  };

  // From `first` up to but not including `end`.
  constexpr Ids(int first, int end) : Ids(first, end < first ? first : end, 1) {}
  constexpr iterator begin() const { return {first_, step_}; }
  constexpr iterator end() const { return {end_, step_}; }
  constexpr std::size_t size() const { return at((end_ - first_) * step_); }
  constexpr bool empty() const { return first_ == end_; }
  constexpr Ids reversed() const { return {end_ - step_, first_ - step_, -step_}; }

private:
  constexpr Ids(int first, int end, int step) : first_(first), end_(end), step_(step) {}

  int first_;
  int end_;
  int step_;
};

// The first `count` names.
template <Id Name> constexpr Ids<Name> ids(std::integral auto count) {
  return {0, static_cast<int>(count)};
}

// A vector whose elements names stand for; plain numbers do too.
template <Id Name, typename T> class Indexed : public std::vector<T> {
public:
  using std::vector<T>::vector;
  using std::vector<T>::operator[];
  Indexed() = default;
  Indexed(std::vector<T> elements) : std::vector<T>(std::move(elements)) {}

  typename std::vector<T>::reference operator[](Name name) { return (*this)[tilefuse::at(name)]; }
  typename std::vector<T>::const_reference operator[](Name name) const {
    return (*this)[tilefuse::at(name)];
  }
  // The names of all elements, and of the one behind the last.
  Ids<Name> ids() const { return tilefuse::ids<Name>(this->size()); }
  Name next_id() const { return static_cast<Name>(this->size()); }
};

} // namespace tilefuse
