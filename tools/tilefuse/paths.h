// SPDX-License-Identifier: Apache-2.0
// Where the program's own files lie: the operator library and the device rows. The folder that
// holds ops/ and devices/ is, in this order: $TILEFUSE_SHARE; ../share/tilefuse beside the
// executable's folder (an installed or unpacked bundle); the folder named in the file
// tilefuse.share beside the executable, which the build writes.
#pragma once

#include <string>

namespace tilefuse::tool {

// Error{Io} says which folders were looked at.
std::string share_directory();
std::string ops_directory();
std::string devices_directory();

} // namespace tilefuse::tool
