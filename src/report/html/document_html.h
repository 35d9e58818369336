// SPDX-License-Identifier: Apache-2.0
// A verb's report as part of a page: its lines as a list, its tables as tables. The same cells as in
// text, so that no number can differ.
#pragma once

#include "report/document.h"
#include "report/html/markup.h"
#include "report/table.h"

namespace tilefuse::report::html {

// Columns for programs alone are left out; rows of a table with a column "#" lead to the kernel.
void table_html(Markup &out, const Table &table);
void document_html(Markup &out, const Document &document);

} // namespace tilefuse::report::html
