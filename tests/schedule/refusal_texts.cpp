// SPDX-License-Identifier: Apache-2.0
#include "schedule/refusal_texts.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tilefuse::testing {
namespace {

// Walks C++ text that has no raw strings and no comments between /* and */.
class Literals {
public:
  Literals(std::string_view source, const std::string &file) : source_(source), file_(file) {}

  std::vector<SourceText> run() {
    while (at_ < source_.size())
      step();
    return std::move(found_);
  }

private:
  bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void step() {
    const char letter = source_[at_];
    if (starts("//") || starts("#include"))
      return skip_line();
    if (letter == '"')
      return take();
    if (letter == '\'')
      return skip_character();
    line_ += letter == '\n' ? 1 : 0;
    continues_ = continues_ && std::isspace(static_cast<unsigned char>(letter)) != 0;
    ++at_;
  }

  void skip_line() {
    while (at_ < source_.size() && source_[at_] != '\n')
      ++at_;
  }

  // A digit separator is no character.
  void skip_character() {
    const bool separates = at_ > 0 && std::isdigit(static_cast<unsigned char>(source_[at_ - 1]));
    at_ += separates ? 1 : (source_[at_ + 1] == '\\' ? 4 : 3);
    continues_ = false;
  }

  bool is_name(std::size_t first) const {
    std::size_t next = at_ + 1;
    while (next < source_.size() && std::isspace(static_cast<unsigned char>(source_[next])) != 0)
      ++next;
    return first > 0 && source_[first - 1] == '{' && at_ < source_.size() && source_[at_] == ',' &&
           next < source_.size() && source_[next] != '"';
  }

  void take() {
    const std::size_t first = at_;
    std::string text;
    for (++at_; at_ < source_.size() && source_[at_] != '"'; ++at_) {
      if (source_[at_] == '\\')
        ++at_;
      text += source_[at_];
    }
    ++at_;
    if (continues_)
      found_.back().text += text;
    else
      found_.push_back({file_, line_, std::move(text), is_name(first)});
    continues_ = true;
  }

  std::string_view source_;
  const std::string &file_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool continues_ = false; // only blanks since the last literal
  std::vector<SourceText> found_;
};

struct SourceFile {
  std::string name, text;
};

// All .cpp files under a folder, by path.
std::vector<SourceFile> sources(const std::string &folder) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".cpp")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<SourceFile> found;
  for (const std::filesystem::path &path : files) {
    std::ifstream file(path);
    found.push_back({path.filename().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  return found;
}

} // namespace

std::vector<SourceText> literals(std::string_view source, const std::string &file) {
  return Literals(source, file).run();
}

bool is_sentence(std::string_view text) {
  int words = 0;
  bool in_word = false;
  for (const char letter : text) {
    const bool is_letter = std::isalpha(static_cast<unsigned char>(letter)) != 0;
    words += is_letter && !in_word ? 1 : 0;
    in_word = is_letter || (in_word && letter != ' ');
  }
  return words >= 2 || (words == 1 && text.find("{}") != std::string_view::npos &&
                        text.find(' ') != std::string_view::npos);
}

std::vector<SourceText> sentences(const std::string &folder) {
  std::vector<SourceText> found;
  for (const SourceFile &file : sources(folder))
    for (SourceText &text : literals(file.text, file.name))
      if (is_sentence(text.text))
        found.push_back(std::move(text));
  return found;
}

std::vector<SourceText> range_names(const std::string &folder) {
  std::vector<SourceText> found;
  for (const SourceFile &file : sources(folder))
    if (file.text.find("#include \"base/range.h\"") != std::string::npos)
      for (SourceText &text : literals(file.text, file.name))
        if (text.names && text.text.find(' ') == std::string::npos)
          found.push_back(std::move(text));
  return found;
}

bool holds(std::string_view message, std::string_view text) {
  const std::size_t gap = text.find("{}");
  const std::string_view piece = text.substr(0, gap);
  for (std::size_t at = message.find(piece); at != std::string_view::npos;
       at = message.find(piece, at + 1)) {
    if (gap == std::string_view::npos ||
        holds(message.substr(at + piece.size()), text.substr(gap + 2)))
      return true;
  }
  return false;
}

} // namespace tilefuse::testing
