#include "collectives/kernels/types.h"

#include <algorithm>
#include <iterator>

namespace scela::collectives {
namespace {

template <class Value>
struct Place {
  Value value;
  std::int32_t place;
};

struct Row {
  std::string_view name;
  std::size_t bytes;
};
constexpr Row kTypeRows[kTypes] = {
    {"int8", 1},
    {"uint8", 1},
    {"int16", 2},
    {"uint16", 2},
    {"int32", 4},
    {"uint32", 4},
    {"int64", 8},
    {"uint64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
    {"long-double", sizeof(long double)},
    {"int16-place", sizeof(Place<std::int16_t>)},
    {"int32-place", sizeof(Place<std::int32_t>)},
    {"int64-place", sizeof(Place<std::int64_t>)},
    {"float32-place", sizeof(Place<float>)},
    {"float64-place", sizeof(Place<double>)},
    {"long-double-place", sizeof(Place<long double>)},
};
constexpr std::string_view kOpNames[kOps] = {
    "sum",         "product", "minimum", "maximum", "logical-and",   "logical-or",
    "logical-xor", "bit-and", "bit-or",  "bit-xor", "minimum-place", "maximum-place",
};

}  // namespace

std::size_t size_of(Type type) {
  return kTypeRows[static_cast<std::size_t>(type)].bytes;
}

std::string_view name_of(Type type) {
  return kTypeRows[static_cast<std::size_t>(type)].name;
}

std::string_view name_of(Op op) {
  return kOpNames[static_cast<std::size_t>(op)];
}

std::optional<Type> type_of(std::string_view name) {
  const auto* const found = std::ranges::find(kTypeRows, name, &Row::name);
  if (found == std::end(kTypeRows)) return std::nullopt;
  return static_cast<Type>(found - std::begin(kTypeRows));
}

}  // namespace scela::collectives
