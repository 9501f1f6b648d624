#include "hca/core/model/strictness.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "common/core/text.h"

namespace scela::hca {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

struct Fault {
  std::string_view name;
  std::uint32_t Faults::*to;
  std::uint32_t most;
  std::string_view unit;
};
constexpr std::uint32_t kMaxSlowUs = 1'000'000;
constexpr Fault kFaults[] = {
    {"ud-lost", &Faults::ud_lost, 1000, "times in a thousand"},
    {"ud-twice", &Faults::ud_twice, 1000, "times in a thousand"},
    {"ud-late", &Faults::ud_late, 1000, "times in a thousand"},
    {"not-ready", &Faults::not_ready, 1000, "times in a thousand"},
    {"unanswered", &Faults::unanswered, 1000, "times in a thousand"},
    {"slow-us", &Faults::slow_us, kMaxSlowUs, "microseconds"},
    {"dies-after", &Faults::dies_after, ~0U, "requests"},
};

std::string names_of_faults() {
  std::string names;
  for (const Fault& fault : kFaults)
    names += cat(names.empty() ? "" : ", ", fault.name);
  return names;
}

Error wrong(std::string_view what, std::string_view text, std::string_view why) {
  return {ErrorKind::usage, std::string(what), "", cat("'", text, "' ", why), ""};
}

}  // namespace

Result<Faults> parse_faults(std::string_view text) {
  constexpr std::string_view kWhat = "read SCELA_HCA_FAULTS";
  Faults faults;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const auto* const fault = std::ranges::find(kFaults, name, &Fault::name);
    if (fault == std::end(kFaults))
      return fail(wrong(kWhat, name, cat("is no fault: there are ", names_of_faults())));
    std::uint32_t& to = faults.*fault->to;
    if (equals == std::string_view::npos || !read_number(word.substr(equals + 1), to) ||
        to > fault->most)
      return fail(wrong(
          kWhat, word, cat("names no number from 0 to ", fault->most, ", which is ", fault->unit)));
  }
  return faults;
}

Result<std::uint64_t> parse_seed(std::string_view text) {
  std::uint64_t seed = 0;
  if (!text.empty() && !read_number(text, seed))
    return fail(wrong("read SCELA_HCA_STRICT", text, "is no number"));
  return seed;
}

}  // namespace scela::hca
