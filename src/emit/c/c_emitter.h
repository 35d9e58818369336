// SPDX-License-Identifier: Apache-2.0
// A back end that writes text of C's kind: the printer (c_like.h) walks a kernel, and what a
// language says in its own way is an override. A language without pointers, or with other loops and
// declarations, overrides those too; OpenCL C and CUDA C++ are the two there are.
//
// How values are held:  kernel      C                        in memory
//                       int         int, long when `wide`    int
//                       bool        int, 0 or 1              uchar, any non-zero byte is true
//                       boolxN      intN, 0 or -1            uchar
//                       f16, bf16   float                    half, ushort
//                       others      themselves               themselves
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emit/emitter.h"
#include "kernel/nodes.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit {

struct CContext;

// Words of a language; spaces have a trailing blank and may be empty.
struct CWords {
  std::string_view name;     // in errors: "OpenCL C"
  std::string_view helper;   // qualifiers of a small function
  std::string_view outlined; // qualifiers of a function that stays one
  std::string_view global_space;
  std::string_view local_space;   // of a pointer into scratch that the block shares
  std::string_view local_array;   // of its declaration
  std::string_view private_space; // of both, for scratch of one work-item
  std::string_view restrict_word;
  std::string_view block_index; // as an int
  std::string_view lane_index;
  std::string_view bytes;  // prefix of functions of four bytes at once: maxima, minima; or empty
  bool by_element = false; // vectors of any alignment are read so: parts of them without a branch
  // A quirk of its compiler: in kernels that hold at most so many values in registers, parts of
  // vectors of elements below 4 bytes are selected and not branched to, so that several loads are
  // in flight, which takes registers. 0: they are branched to everywhere.
  std::int64_t select_registers = 0;
};

// A kernel's symbol, its statements, and whether they are a function of their own.
struct ProgramText {
  std::string symbol;
  std::string statements;
  bool outlined = false;
};

// "for (int v1 = 0; v1 < 4; v1 += 1)".
struct LoopText {
  std::string type, name, begin, end, step;
  bool is_down = false;
};

// A vector in a buffer's memory from base[index] on.
struct VectorText {
  const kernel::Buffer &buffer;
  kernel::Type type;
  std::string base, index;
};

class CEmitter : public Emitter {
public:
  virtual const CWords &words() const = 0;

  // What is declared: the whole text of a kernel, helper functions included.
  virtual std::string unit(CContext &cx, const ProgramText &text) const = 0;
  // Bytes of the block's memory that the launch gives; 0: the text declares what there is.
  virtual std::int64_t launch_bytes(const kernel::Kernel &) const { return 0; }

  // Statements.
  virtual std::string let(const std::string &type, const std::string &name,
                          const std::string &value) const;
  virtual std::string loop(const LoopText &text) const; // up to what is repeated
  // One that the block, a warp or the cluster meets at, without a number.
  virtual std::string barrier(const CContext &cx, const kernel::Barrier &node) const = 0;
  // Of a pointer; empty: there is none.
  virtual std::string prefetch(const std::string &pointer) const = 0;
  // Lines; Error{Unsupported} of what the language lacks.
  virtual std::vector<std::string> intrinsic(CContext &cx, const kernel::Intrinsic &node) const = 0;

  // The type of a scalar held as a value, or of an element in memory ("uchar" of bool).
  virtual std::string value_elem(DType elem) const { return std::string(traits(elem).c_value); }
  virtual std::string memory_elem(DType elem) const { return std::string(traits(elem).c_bits); }
  // Vector type of a scalar type's name; Error{Unsupported} for widths that the language lacks.
  virtual std::string vector(const std::string &elem, int lanes) const = 0;

  // A vector from one scalar or from one scalar per lane, joined by commas.
  virtual std::string compose(const std::string &vector_type, const std::string &lanes) const = 0;
  virtual std::string lane(const std::string &value, int lane) const = 0;
  // a where the condition, a value of so many lanes, holds, else b.
  virtual std::string select(int lanes, const std::string &condition, const std::string &a,
                             const std::string &b) const;
  // Conversion between the types of values; float to integer truncates and saturates, NaN gives 0.
  virtual std::string convert(const kernel::Type &from, const kernel::Type &to,
                              const std::string &value) const = 0;
  // A coarse operation (target/coarse.h) as the name of a function of the language; empty: it is
  // written as an exact one.
  virtual std::string coarse_function(CContext &, ScalarOp, const kernel::Type &) const {
    return {};
  }
  // An f32, or neighbours of half types that fill 4 bytes, as a word of a matrix fragment;
  // Error{Unsupported} where the language has none.
  virtual std::string word(const kernel::Type &type, const std::string &value) const;
  // c and the products of neighbours in a and in b, of so many lanes; Error{Unsupported} where the
  // language has none.
  virtual std::string dot(CContext &cx, const kernel::Dot &node, int lanes) const;
  // A vector over and over; likewise.
  virtual std::string repeat(const kernel::Type &from, const kernel::Type &to,
                             const std::string &value) const;
  // Whether round_convert is there for a context's target.
  virtual bool has_round_convert(const CContext &) const { return false; }
  // A vector of f32 rounded half to even within whole bounds (`low` none: that of the type) and
  // held as 8-bit integers `to`; NaN gives 0.
  virtual std::string round_convert(const kernel::Type &to, const std::string &value,
                                    std::optional<double> low, std::optional<double> high) const;

  // Contiguous elements at base[index] as values, and back.
  virtual std::string load(DType elem, int lanes, const std::string &base,
                           const std::string &index) const = 0;
  virtual std::string store(DType elem, int lanes, const std::string &base,
                            const std::string &index, const std::string &value) const = 0;
  // A vector whose lanes are apart, or partly valid.
  virtual std::string guarded_load(CContext &cx, const kernel::Type &type,
                                   const kernel::Load &load) const = 0;
  virtual std::string guarded_store(CContext &cx, const kernel::Store &store,
                                    const std::string &value) const = 0;
  // Whether a vector whose first element is aligned to as many elements is one access.
  virtual bool has_wide(const CContext &cx, const kernel::Type &type) const = 0;
  virtual std::string wide_load(const CContext &cx, const VectorText &at) const = 0;
  // A scalar or an aligned vector of memory that the kernel does not write where the condition
  // holds, else `fill` in all lanes; empty: as any value that is selected.
  virtual std::string conditional_load(const CContext &cx, const VectorText &at,
                                       const std::string &condition, const std::string &fill) const;
  virtual std::string wide_store(const CContext &cx, const VectorText &at,
                                 const std::string &value) const = 0;
  // A whole vector to any address.
  virtual std::string plain_store(const CContext &cx, const VectorText &at,
                                  const std::string &value) const;
  // Whether variables can hold vectors of half types as words (c_words.h); the statement that loads
  // one, and that which stores it.
  virtual bool has_words() const { return false; }
  virtual std::string load_words(CContext &cx, const kernel::Let &let) const;
  virtual std::string store_words(CContext &cx, const kernel::Store &store,
                                  kernel::VarId var) const;
  // A pointer to the same element of the cluster's block of a rank.
  virtual std::string pointer_of_rank(const std::string &pointer, const std::string &rank) const;

  // Throws Error{Unsupported}.
  [[noreturn]] void refuse(std::string_view what) const;
};

} // namespace tilefuse::emit
