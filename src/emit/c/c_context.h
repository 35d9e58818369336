// SPDX-License-Identifier: Apache-2.0
// What the parts of the C-like printer share: the kernel, the language, and the helper functions
// asked for so far.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/c/c_emitter.h"
#include "target/coarse.h"
#include "target/target.h"

namespace tilefuse::emit {

struct CContext {
  const kernel::Kernel &kernel;
  const Target &target;
  const CEmitter &language;
  bool wide = false;                       // int is 64 bits
  bool vector_target = false;              // rare paths of helpers stay functions
  std::vector<bool> split = {};            // by BufferId: a register array, one variable per value
  std::vector<bool> fragments = {};        // by BufferId: of matrix instructions, as 4-byte words
  std::vector<std::int64_t> divisors = {}; // by VarId: see c_align.h
  std::vector<bool> words_of = {};         // by VarId: see c_words.h
  std::map<std::string, std::string> helpers = {}; // name → definition
  Coarse coarse = Coarse::None;                    // of the value that is written now

  const CWords &words() const { return language.words(); }
  // A block of one work-item keeps its scratch to itself, like its registers.
  std::string_view scratch_space() const {
    return kernel.block_size == 1 ? words().private_space : words().local_space;
  }
  std::string_view scratch_array() const {
    return kernel.block_size == 1 ? words().private_space : words().local_array;
  }
  std::string index_type() const { return language.value_elem(wide ? DType::I64 : DType::I32); }
};

} // namespace tilefuse::emit
