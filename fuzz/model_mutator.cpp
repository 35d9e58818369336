// SPDX-License-Identifier: Apache-2.0
#include "model_mutator.h"

#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

#include "base/error.h"
#include "onnx/table.h"

namespace tilefuse::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class Mutator {
public:
  explicit Mutator(std::uint32_t seed) : engine_(seed) {}

  void change(Message &model) {
    messages_.clear();
    strings_ = {"", "/", "..", "no such name", "location", "offset", "length", "weights.bin"};
    collect(model);
    Message &message = *messages_[below(messages_.size())];
    const FieldDescriptor &field = pick_field(message);
    if (field.is_repeated())
      change_list(message, field);
    else if (below(8) == 0)
      message.GetReflection()->ClearField(&message, &field);
    else
      set(message, field);
  }

  std::size_t below(std::size_t count) { return engine_() % count; }

private:
  void collect(Message &message) {
    const Reflection &reflection = *message.GetReflection();
    messages_.push_back(&message);
    std::vector<const FieldDescriptor *> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i)
        collect_value(message, *field, i);
    }
  }

  void collect_value(Message &message, const FieldDescriptor &field, int i) {
    const Reflection &reflection = *message.GetReflection();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      collect(field.is_repeated() ? *reflection.MutableRepeatedMessage(&message, &field, i)
                                  : *reflection.MutableMessage(&message, &field));
    else if (field.type() == FieldDescriptor::TYPE_STRING)
      strings_.push_back(field.is_repeated() ? reflection.GetRepeatedString(message, &field, i)
                                             : reflection.GetString(message, &field));
  }

  // Mostly one that is set.
  const FieldDescriptor &pick_field(const Message &message) {
    std::vector<const FieldDescriptor *> set;
    message.GetReflection()->ListFields(message, &set);
    if (!set.empty() && below(4) != 0)
      return *set[below(set.size())];
    const auto &descriptor = *message.GetDescriptor();
    return *descriptor.field(
        static_cast<int>(below(static_cast<std::size_t>(descriptor.field_count()))));
  }

  void change_list(Message &message, const FieldDescriptor &field) {
    const Reflection &reflection = *message.GetReflection();
    const int count = reflection.FieldSize(message, &field);
    const auto at = [&] { return static_cast<int>(below(static_cast<std::size_t>(count))); };
    const std::size_t form = count == 0 ? 0 : below(5);
    if (form == 0) {
      add(message, field, count == 0 ? -1 : at());
    } else if (form == 1) {
      reflection.SwapElements(&message, &field, at(), count - 1);
      reflection.RemoveLast(&message, &field);
    } else if (form == 2) {
      reflection.SwapElements(&message, &field, at(), at());
    } else {
      set_repeated(message, field, at());
    }
  }

  // A new element at the end, for a message a copy of element `from` where there is one.
  void add(Message &message, const FieldDescriptor &field, int from) {
    const Reflection &reflection = *message.GetReflection();
    switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      Message *added = reflection.AddMessage(&message, &field);
      if (from >= 0)
        added->CopyFrom(reflection.GetRepeatedMessage(message, &field, from));
      return;
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.AddString(&message, &field, text(field));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.AddInt64(&message, &field, integer());
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.AddUInt64(&message, &field, static_cast<std::uint64_t>(integer()));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.AddInt32(&message, &field, static_cast<std::int32_t>(integer()));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.AddFloat(&message, &field, static_cast<float>(real()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.AddDouble(&message, &field, real());
    default:
      return;
    }
  }

  void set_repeated(Message &message, const FieldDescriptor &field, int i) {
    const Reflection &reflection = *message.GetReflection();
    switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetRepeatedString(&message, &field, i, text(field));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetRepeatedInt64(&message, &field, i, integer());
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetRepeatedInt32(&message, &field, i, static_cast<std::int32_t>(integer()));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.SetRepeatedFloat(&message, &field, i, static_cast<float>(real()));
    default:
      return;
    }
  }

  void set(Message &message, const FieldDescriptor &field) {
    const Reflection &reflection = *message.GetReflection();
    switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      reflection.MutableMessage(&message, &field);
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(&message, &field, text(field));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, integer());
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, static_cast<std::int32_t>(below(18)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.SetFloat(&message, &field, static_cast<float>(real()));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, &field, static_cast<int>(below(18)));
    default:
      return;
    }
  }

  // A name of an operator or of one of its attributes, or any string of the model.
  std::string text(const FieldDescriptor &field) {
    if (field.type() == FieldDescriptor::TYPE_BYTES)
      return std::string(below(64), static_cast<char>(below(256)));
    const auto rows = onnx_import::operators();
    const onnx_import::Operator &row = rows[below(rows.size())];
    const std::size_t form = below(4);
    if (form == 0 || field.name() == "op_type")
      return std::string(row.type);
    if (form == 1 && !row.attributes.empty())
      return word(row.attributes, below(row.attributes.size()));
    return strings_[below(strings_.size())];
  }

  // The word of `text` that holds position `at`.
  static std::string word(std::string_view text, std::size_t at) {
    constexpr std::string_view kSeparators = " =|";
    const std::size_t before = text.find_last_of(kSeparators, at);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return std::string(text.substr(begin, text.find_first_of(kSeparators, begin) - begin));
  }

  std::int64_t integer() {
    constexpr std::array<std::int64_t, 10> kEdges = {std::numeric_limits<std::int64_t>::max(),
                                                     std::numeric_limits<std::int64_t>::min(),
                                                     std::numeric_limits<std::int32_t>::max(),
                                                     std::numeric_limits<std::int32_t>::min(),
                                                     std::int64_t{1} << 31,
                                                     std::int64_t{1} << 40,
                                                     std::int64_t{1} << 62,
                                                     1 << 24,
                                                     1000,
                                                     224};
    if (below(4) == 0)
      return kEdges[below(kEdges.size())];
    return static_cast<std::int64_t>(below(24)) - 4;
  }

  double real() {
    constexpr std::array<double, 6> kEdges = {
        0.0, NAN, INFINITY, -INFINITY, 1e30, std::numeric_limits<float>::denorm_min()};
    if (below(3) == 0)
      return kEdges[below(kEdges.size())];
    return 0.25 * static_cast<double>(below(64)) - 4;
  }

  std::mt19937 engine_;
  std::vector<Message *> messages_;
  std::vector<std::string> strings_;
};

// The schema read at run time: the one compiled into the importer lacks reflection.
class Schema {
public:
  Schema() {
    std::ifstream stream(TILEFUSE_ONNX_DESCRIPTORS, std::ios::binary);
    google::protobuf::FileDescriptorSet files;
    TILEFUSE_CHECK(files.ParseFromIstream(&stream) && files.file_size() == 1, "no schema");
    model_ =
        factory_.GetPrototype(pool_.BuildFile(files.file(0))->FindMessageTypeByName("ModelProto"));
  }
  std::unique_ptr<Message> model() const { return std::unique_ptr<Message>(model_->New()); }

private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  const Message *model_ = nullptr;
};

} // namespace

std::string mutate_model(std::string_view bytes, std::uint32_t seed) {
  static const Schema schema;
  const google::protobuf::LogSilencer silencer;
  const std::unique_ptr<Message> model = schema.model();
  if (bytes.empty() || !model->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return {};
  Mutator mutator(seed);
  for (std::size_t changes = 1 + mutator.below(4); changes > 0; --changes)
    mutator.change(*model);
  return model->SerializeAsString();
}

} // namespace tilefuse::fuzz
