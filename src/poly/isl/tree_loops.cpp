// SPDX-License-Identifier: Apache-2.0
#include "poly/isl/tree_loops.h"

#include <isl/ast.h>
#include <isl/ast_build.h>

#include "poly/isl/schedule_tree_isl.h"

namespace tilefuse::poly {

std::string to_loops(const ScheduleTree &tree) {
  isl_ast_build *build = counted(isl_ast_build_alloc(isl_context()));
  isl_ast_node *loops = counted(isl_ast_build_node_from_schedule(build, to_isl(tree).release()));
  std::string text = loops == nullptr ? "" : taken(isl_ast_node_to_C_str(loops));
  isl_ast_node_free(loops);
  isl_ast_build_free(build);
  return text;
}

} // namespace tilefuse::poly
