#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs.sh BUILD: the pages of docs/ as a site in BUILD/docs/site, with two that the program built in BUILD prints: every
# verb's help and the operators that are imported. A link that leads nowhere fails.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "$1")
tool=$build/bin/tilefuse
pages=$build/docs/pages

rm -rf "$build/docs"
mkdir -p "$pages"
cp -r "$root"/docs/. "$pages"

{
  printf '# Commands\n'
  "$tool" --help | awk '/^  [a-z]+ / && $1 != "tilefuse" { print $1 }' | while read -r verb; do
    printf '\n## tilefuse %s\n\n```\n' "$verb"
    COLUMNS=100 "$tool" "$verb" --help
    printf '```\n'
  done
} >"$pages/commands.md"

{
  printf '# Operators\n\nOperators of ONNX'"'"'s default domain that tilefuse imports, the first opset of each, and its attributes;\n'
  printf '`name=a|b` takes these values alone. `tilefuse operators` prints this table.\n\n| operator | from opset | attributes |\n|---|---|---|\n'
  "$tool" operators --csv - | python3 -c '
import csv, sys
for name, opset, attributes in list(csv.reader(sys.stdin))[1:]:
    print(f"| {name} | {opset} |", " ".join("`" + word.replace("|", "&#124;") + "`" if "|" not in word else "<code>" + word.replace("|", "&#124;") + "</code>" for word in attributes.split()), "|")'
} >"$pages/operators.md"

sed -e "s|^docs_dir:.*|docs_dir: $pages|" -e "s|^site_dir:.*|site_dir: $build/docs/site|" "$root/mkdocs.yml" >"$build/docs/mkdocs.yml"
mkdocs build --quiet --config-file "$build/docs/mkdocs.yml"
echo "$build/docs/site/index.html"
