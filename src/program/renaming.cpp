// SPDX-License-Identifier: Apache-2.0
#include "program/renaming.h"

namespace tilefuse::program {

void Renaming::operator()(Statement &statement) const {
  (*this)(statement.out);
  std::visit([&](auto &body) { rename(body); }, statement.body);
}

void Renaming::rename(View &view) const { (*this)(view.in); }

void Renaming::rename(Map &map) const {
  for (TensorId &operand : map.operands)
    (*this)(operand);
}

void Renaming::rename(Contraction &contraction) const {
  for (Access &access : contraction.in)
    (*this)(access.tensor);
  if (contraction.init)
    (*this)(*contraction.init);
}

} // namespace tilefuse::program
