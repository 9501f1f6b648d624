#include "launcher/core/values/text_values.h"

#include <charconv>

#include "common/core/text.h"

namespace scela {

Error value_error(std::string why, std::string hint) {
  return Error{ErrorKind::usage, "", "", std::move(why), std::move(hint)};
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> split_list(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    const std::string_view part = trim(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

Result<std::uint32_t> parse_number(std::string_view text, std::uint32_t least, std::uint32_t most) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const bool is_digits = !text.empty() && parsed.ptr == end && parsed.ec != std::errc{};
  if (parsed.ec == std::errc{} && parsed.ptr == end && number >= least && number <= most) {
    return static_cast<std::uint32_t>(number);
  }
  const bool is_number = is_digits || (parsed.ec == std::errc{} && parsed.ptr == end);
  const bool is_negative = text.size() > 1 && text[0] == '-' &&
                           text.find_first_not_of("0123456789", 1) == std::string_view::npos;
  if (is_number || is_negative) {
    return fail(value_error(cat("'", text, "' is out of range"),
                            cat("give a number from ", least, " to ", most)));
  }
  return fail(value_error(cat("'", text, "' is not a number"),
                          cat("give a number from ", least, " to ", most)));
}

namespace {

// Parses digits with at most one point, as an exact number of microseconds per unit. It uses no
// floating point, so the same text gives the same duration everywhere.
bool decimal_times(std::string_view number, std::uint64_t unit_us, std::uint64_t& result_us) {
  const auto point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view{} : number.substr(point + 1);
  if (whole.empty() && fraction.empty()) return false;
  if (whole.size() > 9) return false;  // far above kMaxDuration in any unit
  std::uint64_t total = 0;
  for (const char c : whole) {
    if (c < '0' || c > '9') return false;
    total = total * 10 + static_cast<std::uint64_t>(c - '0');
  }
  total *= unit_us;
  std::uint64_t digit_us = unit_us;
  for (const char c : fraction) {
    if (c < '0' || c > '9') return false;
    digit_us /= 10;
    total += static_cast<std::uint64_t>(c - '0') * digit_us;
  }
  result_us = total;
  return true;
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto letters = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, letters);
  const std::string_view unit =
      letters == std::string_view::npos ? std::string_view{} : text.substr(letters);
  std::uint64_t unit_us = 0;
  if (unit.empty() || unit == "s") {
    unit_us = 1'000'000;
  } else if (unit == "ms") {
    unit_us = 1'000;
  } else if (unit == "m" || unit == "min") {
    unit_us = 60'000'000;
  } else if (unit == "h") {
    unit_us = 3'600'000'000;
  }
  std::uint64_t total_us = 0;
  if (unit_us == 0 || !decimal_times(number, unit_us, total_us)) {
    return fail(value_error(cat("'", text, "' is not a time"),
                            "give seconds (90, 1.5) or a number with ms, s, m or h (2m, 1h)"));
  }
  const auto max_us = std::chrono::microseconds(kMaxDuration).count();
  if (total_us > static_cast<std::uint64_t>(max_us)) {
    return fail(value_error(cat("'", text, "' is more than a year"), "give a shorter time"));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(total_us / 1'000));
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  constexpr std::uint64_t kMax = (std::uint64_t{1} << 42) - 1;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit = error == std::errc::invalid_argument
                                    ? std::string_view()
                                    : std::string_view(rest, static_cast<std::size_t>(end - rest));
  const std::size_t scale =
      unit.size() == 1 ? kUnits.find(static_cast<char>(unit[0] & ~0x20)) + 1 : 0;
  if (error == std::errc::invalid_argument || (!unit.empty() && scale == 0)) {
    return fail(value_error(cat("'", text, "' is not a number of bytes"),
                            "give a number, or one with K, M or G (64K, 2M)"));
  }
  if (error == std::errc() && number == 0) {
    return fail(value_error(cat("'", text, "' is no limit"), "leave the option out for none"));
  }
  if (error != std::errc() || number > kMax >> (10 * scale)) {
    return fail(value_error(cat("'", text, "' is more than 4 TiB"), "give a smaller number"));
  }
  return number << (10 * scale);
}

Result<bool> parse_flag(std::string_view text) {
  for (const std::string_view yes : {"yes", "true", "on", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"no", "false", "off", "0"}) {
    if (text == no) return false;
  }
  return fail(value_error(cat("'", text, "' is neither yes nor no"), "give yes or no"));
}

Result<std::string> parse_text(std::string_view text) {
  if (trim(text).empty()) return fail(value_error("the value is empty"));
  return std::string(text);
}

}  // namespace scela
