// SPDX-License-Identifier: Apache-2.0
#include "tile/format_line.h"

#include <algorithm>
#include <string_view>

#include "tile/ast.h"

namespace tilefuse::tile {
namespace {

bool is_one_of(std::string_view text, std::span<const std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_value(const Token &token) {
  return token.kind == TokenKind::Name || token.kind == TokenKind::Integer ||
         token.kind == TokenKind::Float;
}

bool is_keyword(std::string_view text) {
  constexpr std::string_view kWords[] = {"function", "default", "no_defract"};
  return is_one_of(text, kWords);
}

// What a token is to its neighbours.
enum class Form {
  Value,  // a name or a number
  Open,   // ( [ {
  Close,  // ) ]
  Prefix, // a sign before its operand
  Agg,    // + * > < = before the operands of a contraction
  Tight,  // an infix operator without spaces
  Spaced, // one with them, also = and ->
  Colon,  // spaces but beside brackets
  Comma,  // , and ;
};

// Reads the tokens of one header or statement in order.
class Reader {
public:
  explicit Reader(std::span<const Token> tokens) : tokens_(tokens) {}

  std::vector<Word> run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_)
      read(tokens_[at_]);
    return std::move(words_);
  }

private:
  void read(const Token &token) {
    const std::string_view text = token.text;
    if (is_value(token))
      return read_value(token);
    if (text == "(" || text == "[" || text == "{")
      return open(text);
    if (text == ")" || text == "]" || text == "}")
      return close(text);
    if (text == "," || text == ";")
      return put(text, Form::Comma);
    if (text == ":")
      return put(text, Form::Colon);
    if (is_aggregate(text))
      return aggregate(text);
    const bool infix = last_ == Form::Value || last_ == Form::Close;
    if (!infix && (text == "-" || text == "~"))
      return put(text, Form::Prefix);
    const bool combines = after_bracket_;
    const bool tight = (text == "*" || text == "/") && !combines;
    seen_equals_ = seen_equals_ || text == "=";
    put(text, tight ? Form::Tight : Form::Spaced);
  }

  // 2i is written 2*i, in parentheses where an operator before the 2 would take it from the i.
  void read_value(const Token &token) {
    const bool ends = !words_.empty() && last_is_integer_ && is_factor(token);
    const bool begins =
        token.kind == TokenKind::Integer && at_ + 1 < tokens_.size() && is_factor(tokens_[at_ + 1]);
    const bool grouped = begins && (last_ == Form::Tight || last_ == Form::Prefix);
    if (ends)
      put("*", Form::Tight);
    if (grouped)
      put("(", Form::Open);
    put(spelled(token), Form::Value);
    if (ends && in_group_)
      put(")", Form::Close);
    in_group_ = grouped;
    last_is_integer_ = token.kind == TokenKind::Integer;
    last_is_keyword_ = is_keyword(token.text);
  }

  // A name right behind a number, which multiplies it.
  static bool is_factor(const Token &token) {
    return token.kind == TokenKind::Name && !is_keyword(token.text);
  }

  // The first sign of the right side of `X[…] = +(…)`.
  bool is_aggregate(std::string_view text) const {
    constexpr std::string_view kSigns[] = {"+", "*", ">", "<", "="};
    if (text == "==" && level_ == 0 && after_bracket_ && !seen_equals_)
      return true;
    return contraction_ && last_text_ == "=" && is_one_of(text, kSigns);
  }

  void aggregate(std::string_view text) {
    if (text == "==")
      put("=", Form::Spaced);
    seen_equals_ = true;
    put(text == "==" ? "=" : text, Form::Agg);
  }

  void open(std::string_view text) {
    if (text == "[" && last_ == Form::Value && level_ == 0 && words_.size() < 2 + attributes_)
      contraction_ = true;
    put(text, Form::Open);
    ++level_;
  }

  void close(std::string_view text) {
    --level_;
    put(text, Form::Close);
    after_bracket_ = text == "]";
    if (level_ == 0 && text == "]" && !contraction_)
      attributes_ = words_.size();
  }

  bool space_before(std::string_view text, Form form) const {
    if (last_ == Form::Open || last_ == Form::Prefix || last_ == Form::Tight || last_ == Form::Agg)
      return text == "}";
    switch (form) {
    case Form::Comma:
    case Form::Tight:
      return false;
    case Form::Close:
      return last_ == Form::Colon ? false : text == "}";
    case Form::Open:
      if (last_ == Form::Value)
        return last_is_keyword_ || text == "{";
      return last_ != Form::Close || text == "{" || level_ == 0;
    default:
      return true;
    }
  }

  // Whether a line may end before this word.
  bool breaks_before(Form form, std::string_view text) const {
    if (last_ == Form::Comma)
      return true;
    if (text == "?" || form == Form::Colon)
      return true;
    const bool infix = last_ == Form::Spaced && last_text_ != "->" && last_text_ != "?";
    return infix && form != Form::Spaced && (last_text_ != "=" || level_ == 0);
  }

  void put(std::string_view text, Form form) {
    Word word;
    word.text = text;
    word.token = at_;
    word.space = !words_.empty() && space_before(text, form);
    word.level = (last_text_ == "=" && level_ == 0) || last_text_ == ";" ? level_ - 1 : level_;
    word.breaks = !words_.empty() && word.space && breaks_before(form, text);
    words_.push_back(std::move(word));
    last_ = form;
    last_text_ = words_.back().text;
    last_is_integer_ = last_is_keyword_ = after_bracket_ = false;
  }

  std::span<const Token> tokens_;
  std::vector<Word> words_;
  std::size_t at_ = 0;
  Form last_ = Form::Open;
  std::string last_text_;
  int level_ = 0;
  std::size_t attributes_ = 0; // words of [[…]] before the statement
  bool contraction_ = false;
  bool seen_equals_ = false;
  bool last_is_integer_ = false;
  bool in_group_ = false; // behind "(2", which the next name closes
  bool last_is_keyword_ = false;
  bool after_bracket_ = false;
};

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::size_t width_of(const Word &word, bool first) {
  return columns_of(word.text) + (word.space && !first ? 1 : 0);
}

// Where the line that begins at `begin` ends: behind the last word, or at the
// outermost and then last break that keeps it within `columns`, or else at the
// first break there is.
std::size_t line_end(std::span<const Word> words, std::size_t begin, std::size_t columns) {
  std::size_t width = 0;
  std::size_t best = words.size();
  for (std::size_t i = begin; i < words.size(); ++i) {
    const bool breaks = i > begin && words[i].breaks;
    const bool too_long = width > columns;
    if (breaks && (best == words.size() || (!too_long && words[i].level <= words[best].level)))
      best = i;
    width += width_of(words[i], i == begin);
    if (too_long && best != words.size())
      return best;
  }
  return width > columns ? best : words.size();
}

} // namespace

std::vector<Word> words_of(std::span<const Token> tokens) { return Reader(tokens).run(); }

std::vector<std::string> lines_of(std::span<const Word> words, Indent indent) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t margin = lines.empty() ? indent.first : indent.rest;
    const std::size_t columns = kColumns > margin ? kColumns - margin : 1;
    const std::size_t end = line_end(words, begin, columns);
    std::string line(margin, ' ');
    for (std::size_t i = begin; i < end; ++i)
      line += (words[i].space && i > begin ? " " : "") + words[i].text;
    lines.push_back(std::move(line));
    begin = end;
  }
  return lines;
}

} // namespace tilefuse::tile
