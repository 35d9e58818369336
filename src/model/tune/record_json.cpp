// SPDX-License-Identifier: Apache-2.0
#include "model/tune/record_json.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"

namespace tilefuse::model {
namespace {

using runtime::TuningRecord;

constexpr std::string_view kFormat = "tilefuse-record-1";

struct TextField {
  std::string_view name;
  std::string TuningRecord::*member;
};

constexpr std::array kTexts = {TextField{"group", &TuningRecord::group},
                               TextField{"device", &TuningRecord::device},
                               TextField{"device_name", &TuningRecord::device_name},
                               TextField{"driver", &TuningRecord::driver},
                               TextField{"code", &TuningRecord::code},
                               TextField{"kernel", &TuningRecord::kernel},
                               TextField{"schedule", &TuningRecord::schedule},
                               TextField{"date", &TuningRecord::date}};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

std::string line_of(const TuningRecord &record) {
  std::string text = fmt::format("{{\"format\":{}", quoted(kFormat));
  for (const TextField &field : kTexts)
    text += fmt::format(",\"{}\":{}", field.name, quoted(record.*field.member));
  return text + fmt::format(",\"seconds\":{},\"model_seconds\":{},\"verified\":{}}}\n",
                            record.seconds, record.model_seconds, record.is_verified);
}

// A value of a flat object: a string's contents, or the word of a number or a boolean.
struct Value {
  bool is_text = false;
  std::string text;
};
using Object = std::map<std::string, Value>;

class LineParser {
public:
  LineParser(std::string_view text, std::string file, int line)
      : text_(text), file_(std::move(file)), line_(line) {}

  Object object() {
    Object fields;
    expect('{');
    if (!accept('}')) {
      do {
        std::string name = string();
        expect(':');
        fields[name] = value();
      } while (accept(','));
      expect('}');
    }
    if (skip_blanks() != '\0')
      fail("the end of the line");
    return fields;
  }

  [[noreturn]] void fail(const std::string &need) const {
    throw Error(ErrorCode::Syntax, "a tuning record's line is wrong; need " + need,
                fmt::format("{}:{}:{}", file_, line_, at_ + 1));
  }

private:
  char skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    const bool is_there = skip_blanks() == c;
    at_ += is_there ? 1 : 0;
    return is_there;
  }
  void expect(char c) {
    if (!accept(c))
      fail(fmt::format("'{}'", c));
  }

  std::string string() {
    expect('"');
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (static_cast<unsigned char>(c) < 0x20)
        fail("control characters in strings to be written \\n or \\u00xx");
      if (c == '\\')
        append_escape(out);
      else
        out += c;
    }
    if (at_ == text_.size())
      fail("'\"' at the end of a string");
    ++at_;
    return out;
  }

  void append_escape(std::string &out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    if (c == 'u')
      return append_code(out);
    const std::size_t k = kLetters.find(c);
    if (c == '\0' || k == std::string_view::npos)
      fail("an escape of JSON");
    out += kMeanings[k];
  }

  // \uXXXX as UTF-8; halves of pairs are not joined.
  void append_code(std::string &out) {
    unsigned code = 0;
    const char *begin = text_.data() + at_;
    const char *last = begin + std::min<std::size_t>(4, text_.size() - at_);
    const auto [end, failure] = std::from_chars(begin, last, code, 16);
    if (failure != std::errc() || end != begin + 4)
      fail("four hexadecimal digits");
    at_ += 4;
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
    } else {
      out += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
              static_cast<char>(0x80 | (code & 63))};
    }
  }

  Value value() {
    if (skip_blanks() == '"')
      return {true, string()};
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
            std::string_view("+-.").find(text_[at_]) != std::string_view::npos))
      ++at_;
    if (at_ == begin)
      fail("a string, a number, true or false");
    return {false, std::string(text_.substr(begin, at_ - begin))};
  }

  std::string_view text_;
  std::string file_;
  int line_;
  std::size_t at_ = 0;
};

const Value &field(const LineParser &parser, const Object &object, std::string_view name) {
  const auto found = object.find(std::string(name));
  if (found == object.end())
    parser.fail(fmt::format("the field \"{}\"", name));
  return found->second;
}

std::string text_of(const LineParser &parser, const Object &object, std::string_view name) {
  const Value &value = field(parser, object, name);
  if (!value.is_text)
    parser.fail(fmt::format("a string as \"{}\"", name));
  return value.text;
}

double seconds_of(const LineParser &parser, const Object &object, std::string_view name) {
  const Value &value = field(parser, object, name);
  double seconds = 0;
  const char *last = value.text.data() + value.text.size();
  const auto [end, failure] = std::from_chars(value.text.data(), last, seconds);
  if (value.is_text || failure != std::errc() || end != last || !std::isfinite(seconds) ||
      seconds < 0)
    parser.fail(fmt::format("a number that is not negative as \"{}\"", name));
  return seconds;
}

bool flag_of(const LineParser &parser, const Object &object, std::string_view name) {
  const Value &value = field(parser, object, name);
  if (value.is_text || (value.text != "true" && value.text != "false"))
    parser.fail(fmt::format("true or false as \"{}\"", name));
  return value.text == "true";
}

TuningRecord parse_line(std::string_view line, const std::string &file, int number) {
  LineParser parser(line, file, number);
  const Object object = parser.object();
  if (text_of(parser, object, "format") != kFormat)
    parser.fail(fmt::format("the format {}", kFormat));
  TuningRecord record;
  for (const TextField &text : kTexts)
    record.*text.member = text_of(parser, object, text.name);
  record.seconds = seconds_of(parser, object, "seconds");
  record.model_seconds = seconds_of(parser, object, "model_seconds");
  record.is_verified = flag_of(parser, object, "verified");
  return record;
}

} // namespace

std::string to_json_lines(std::span<const TuningRecord> records) {
  std::string text;
  for (const TuningRecord &record : records)
    text += line_of(record);
  return text;
}

std::vector<TuningRecord> parse_json_lines(std::string_view text, const std::string &file) {
  std::vector<TuningRecord> records;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      records.push_back(parse_line(line, file, number));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return records;
}

} // namespace tilefuse::model
