# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=… -DOUT=x.cpp -DFILES=a,b,… -P embed.cmake: writes the definition of base/embedded.h, with the texts of
# these files of ROOT.
string(REPLACE "," ";" files "${FILES}")
set(text "// Written by cmake/embed.cmake.\n#include \"base/embedded.h\"\n\nnamespace tilefuse {\nnamespace {\n\nconstexpr EmbeddedFile kFiles[] = {\n")
foreach(file IN LISTS files)
  file(READ ${ROOT}/${file} content)
  string(APPEND text "{\"${file}\", R\"embedded(${content})embedded\"},\n")
endforeach()
string(APPEND text "};\n\n} // namespace\n\nstd::span<const EmbeddedFile> embedded_files() { return kFiles; }\n\n} // namespace tilefuse\n")
file(WRITE ${OUT} "${text}")
