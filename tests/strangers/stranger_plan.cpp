#include "tests/strangers/stranger_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <sstream>
#include <type_traits>

namespace strangers {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kKinds[] = {
    "world", "dup",        "split", "subgroup", "node",    "leaders", "shrink", "free",   "message",
    "burst", "collective", "wait",  "cancel",   "reserve", "agree",   "end",    "recover"};
constexpr std::string_view kSendings[] = {"send", "isend", "issend", "persistent"};
constexpr std::string_view kReceivings[] = {"recv", "irecv", "probe", "improbe", "persistent"};
constexpr std::string_view kPatterns[] = {"exact", "any_source", "any_tag", "any"};
constexpr std::string_view kOperations[] = {"barrier",       "bcast",      "reduce",
                                            "allreduce",     "gather",     "scatter",
                                            "allgather",     "alltoall",   "reduce_scatter_block",
                                            "scan",          "exscan",     "gatherv",
                                            "scatterv",      "allgatherv", "alltoallv",
                                            "reduce_scatter"};
constexpr std::string_view kReductions[] = {
    "sum",     "product", "minimum", "maximum", "logical_and", "logical_or", "logical_xor",
    "bit_and", "bit_or",  "bit_xor", "minloc",  "maxloc",      "own_xor",    "own_affine"};
constexpr std::string_view kCallings[] = {"run", "start", "prepare"};
constexpr std::string_view kOrders[] = {"forward", "reverse", "random",   "test",
                                        "any",     "all",     "messages", "operations"};
constexpr std::string_view kEndings[] = {"kill", "exit", "quick_exit", "leave"};
constexpr std::string_view kProgressModes[] = {"at_once", "polled", "thread", "engine"};
constexpr std::string_view kTypes[] = {"int8",
                                       "uint8",
                                       "int16",
                                       "uint16",
                                       "int32",
                                       "uint32",
                                       "int64",
                                       "uint64",
                                       "float16",
                                       "bfloat16",
                                       "float32",
                                       "float64",
                                       "long_double",
                                       "int16_index",
                                       "int32_index",
                                       "int64_index",
                                       "float32_index",
                                       "float64_index",
                                       "long_double_index",
                                       "opaque"};

Names names(Kind) {
  return kKinds;
}
Names names(Sending) {
  return kSendings;
}
Names names(Receiving) {
  return kReceivings;
}
Names names(Pattern) {
  return kPatterns;
}
Names names(Operation) {
  return kOperations;
}
Names names(Reduction) {
  return kReductions;
}
Names names(Calling) {
  return kCallings;
}
Names names(Order) {
  return kOrders;
}
Names names(Ending) {
  return kEndings;
}
Names names(scela::ProgressMode) {
  return kProgressModes;
}
Names names(scela::ElementType) {
  return kTypes;
}

// Visits all fields that a step of its kind has, by name.
template <class AnyStep, class Visit>
void fields(AnyStep& step, const Visit& visit) {
  switch (step.kind) {
    case Kind::world:
      visit("as", step.as), visit("by", step.by), visit("check", step.check);
      break;
    case Kind::dup:
    case Kind::node:
    case Kind::leaders:
    case Kind::shrink:
      visit("of", step.of), visit("as", step.as);
      break;
    case Kind::split:
      visit("of", step.of), visit("as", step.as), visit("colors", step.list);
      visit("keys", step.keys);
      break;
    case Kind::subgroup:
      visit("of", step.of), visit("as", step.as), visit("ranks", step.list);
      break;
    case Kind::free:
    case Kind::agree:
      visit("of", step.of);
      break;
    case Kind::message:
      visit("from", step.from), visit("to", step.to), visit("tag", step.tag);
      visit("context", step.context), visit("bytes", step.bytes), visit("room", step.room);
      visit("times", step.times), visit("sending", step.sending);
      visit("receiving", step.receiving), visit("pattern", step.pattern);
      break;
    case Kind::burst:
      visit("count", step.count), visit("bytes", step.bytes);
      break;
    case Kind::collective:
      visit("of", step.of), visit("operation", step.operation), visit("type", step.type);
      visit("reduction", step.reduction), visit("count", step.count), visit("root", step.root);
      visit("in_place", step.in_place), visit("calling", step.calling), visit("times", step.times);
      visit("algorithm", step.algorithm);
      break;
    case Kind::wait:
      visit("order", step.order), visit("some", step.some);
      break;
    case Kind::reserve:
      visit("count", step.count);
      break;
    case Kind::end:
      visit("rank", step.rank), visit("by", step.ending), visit("at", step.at);
      break;
    case Kind::cancel:
    case Kind::recover:
      break;
  }
}

template <class Value>
std::string text(const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    std::string joined = value.empty() ? "-" : value;
    std::replace(joined.begin(), joined.end(), ' ', '_');
    return joined;
  } else if constexpr (std::is_same_v<Value, std::vector<int>>) {
    std::string joined;
    for (const int each : value)
      joined += (joined.empty() ? "" : ",") + std::to_string(each);
    return joined.empty() ? "-" : joined;
  } else if constexpr (std::is_enum_v<Value>) {
    return std::string(names(value)[static_cast<std::size_t>(value)]);
  } else {
    return std::to_string(value);
  }
}

template <class Number>
bool read_number(std::string_view word, Number& value) {
  const char* const end = word.data() + word.size();
  const auto [behind, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && behind == end;
}

template <class Value>
bool read(std::string_view word, Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    value = word == "-" ? "" : std::string(word);
    std::replace(value.begin(), value.end(), '_', ' ');
    return true;
  } else if constexpr (std::is_same_v<Value, std::vector<int>>) {
    value.clear();
    while (!word.empty() && word != "-") {
      const auto comma = std::min(word.find(','), word.size());
      if (!read_number(word.substr(0, comma), value.emplace_back())) return false;
      word.remove_prefix(std::min(comma + 1, word.size()));
    }
    return true;
  } else if constexpr (std::is_enum_v<Value>) {
    const Names all = names(value);
    const auto found = std::find(all.begin(), all.end(), word);
    value = static_cast<Value>(found - all.begin());
    return found != all.end();
  } else if constexpr (std::is_same_v<Value, bool>) {
    value = word == "1";
    return word == "0" || word == "1";
  } else {
    return read_number(word, value);
  }
}

bool read_step(const std::string& line, Step& step) {
  std::istringstream words(line);
  std::string number, kind;
  if (!(words >> number >> kind) || !read(number, step.number) || !read(kind, step.kind))
    return false;
  bool well = true;
  fields(step, [&](std::string_view name, auto& value) {
    std::string word, given;
    well = well && words >> word >> given && word == name && read(given, value);
  });
  return well && !(words >> kind);
}

}  // namespace

std::string text_of(const Step& step) {
  std::string line = std::to_string(step.number) + " " + text(step.kind);
  fields(step, [&](std::string_view name, const auto& value) {
    line.append(" ").append(name).append(" ").append(text(value));
  });
  return line;
}

std::string text_of(const Plan& plan) {
  std::string all =
      "plan seed " + std::to_string(plan.seed) + " ranks " + std::to_string(plan.ranks) + "\n";
  for (const Step& step : plan.steps)
    all += text_of(step) + "\n";
  return all;
}

std::optional<Plan> parse(std::string_view text, std::string& wrong) {
  Plan plan;
  std::istringstream lines{std::string(text)};
  std::string line, words[5];
  if (std::getline(lines, line)) {
    std::istringstream first(line);
    for (std::string& word : words)
      first >> word;
  }
  wrong = "not a plan: " + line;
  if (words[0] != "plan" || words[1] != "seed" || words[3] != "ranks" ||
      !read(words[2], plan.seed) || !read(words[4], plan.ranks) || plan.ranks < 1)
    return std::nullopt;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') continue;
    Step step;
    wrong = "not a step: " + line;
    if (!read_step(line, step)) return std::nullopt;
    wrong = "its number is not above that of the step before: " + line;
    if (!plan.steps.empty() && plan.steps.back().number >= step.number) return std::nullopt;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

bool makes_communicator(Kind kind) {
  return kind <= Kind::shrink;
}

bool reduces(Operation operation) {
  using enum Operation;
  return operation == reduce || operation == allreduce || operation == reduce_scatter_block ||
         operation == scan || operation == exscan || operation == reduce_scatter;
}

bool has_root(Operation operation) {
  using enum Operation;
  return operation == bcast || operation == reduce || operation == gather || operation == scatter ||
         operation == gatherv || operation == scatterv;
}

bool commutes(Reduction reduction) {
  return reduction != Reduction::own_affine;
}

}  // namespace strangers
