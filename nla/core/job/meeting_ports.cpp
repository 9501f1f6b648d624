#include "nla/core/job/meeting_ports.h"

#include <charconv>

#include "common/core/text.h"

namespace scela::nla {

namespace {

// FNV-1a.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

// Reads a number at the start of the text, and removes it and the blanks around it.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!text.empty() && blank(text.front()))
    text.remove_prefix(1);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (!text.empty() && blank(text.front()))
    text.remove_prefix(1);
  return number;
}

}  // namespace

PortRange parse_port_range(std::string_view text) {
  const auto first = take_number(text);
  const auto last = first ? take_number(text) : std::nullopt;
  if (!last || !text.empty() || *first > *last) return {};
  return {*first, *last};
}

std::vector<std::uint16_t> meeting_ports(std::string_view job_id, PortRange handed_out) {
  std::vector<std::uint16_t> ports;
  const std::uint32_t begin = hash_of(job_id);
  for (std::uint32_t i = 0; i < kMeetingPorts; ++i) {
    const std::uint32_t port = kFirstMeetingPort + (begin + i) % kMeetingPorts;
    if (port >= handed_out.first && port <= handed_out.last) continue;
    ports.push_back(static_cast<std::uint16_t>(port));
  }
  return ports;
}

std::string format(const Rendezvous& point) {
  return cat(point.address, " ", point.port);
}

std::optional<Rendezvous> parse_rendezvous(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == 0 || blank == std::string_view::npos) return std::nullopt;
  Rendezvous point{std::string(text.substr(0, blank)), 0};
  text.remove_prefix(blank + 1);
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, point.port);
  if (error != std::errc() || at != end || point.port == 0) return std::nullopt;
  return point;
}

}  // namespace scela::nla
