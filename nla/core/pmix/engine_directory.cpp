#include "nla/core/pmix/engine_directory.h"

#include <charconv>

#include "common/core/bytes.h"
#include "common/core/hex.h"
#include "common/core/text.h"

namespace scela::nla {

namespace {

constexpr std::string_view kListening = "listening ";
constexpr std::string_view kWhere = "where ";
// The question of one agent to another. The answer says where the engine is: an address and a key,
// or an empty text if no engine listens.
constexpr std::string_view kAsk = "?";

constexpr std::size_t kKeyDigits = 64;

bool is_key(std::string_view text) {
  return text.size() == kKeyDigits && is_hex(text);
}

// Returns true if the text has only characters of addresses and is not longer than an address can
// be. Engines read it.
bool is_address(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return !text.empty() && text.size() <= kLongest &&
         text.find_first_not_of("0123456789abcdef.:[]") == text.npos;
}

// Returns true if the text is an address and a key.
bool is_place(std::string_view text) {
  const std::size_t space = text.find(' ');
  return space != text.npos && is_address(text.substr(0, space)) && is_key(text.substr(space + 1));
}

std::optional<std::uint64_t> number_in(std::string_view bytes) {
  ByteReader in(bytes);
  const std::uint64_t number = in.varint();
  if (!in.done()) return std::nullopt;
  return number;
}

}  // namespace

bool EngineDirectory::said(std::string_view text) {
  if (text.starts_with(kListening)) {
    text.remove_prefix(kListening.size());
    if (!is_address(text)) return false;
    listens_ = text;
    return true;
  }
  if (!text.starts_with(kWhere)) return false;
  text.remove_prefix(kWhere.size());
  return ask(text);
}

bool EngineDirectory::ask(std::string_view number) {
  std::uint32_t node = 0;
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, node);
  if (number.empty() || parsed.ec != std::errc{} || parsed.ptr != end) return false;
  const RankSet there = job_.map.ranks_of(node);
  if (there.empty() || own_.contains(there.front())) {
    sides_.tell(cat("nobody ", node));
  } else {
    sides_.send(own_.front(), ask::Send{there.front(), kEngineTag, Chunk(std::string(kAsk))});
  }
  return true;
}

bool EngineDirectory::heard(const action::Reply& reply) {
  const auto& parts = reply.response.parts;
  if (reply.id != kUnasked || parts.size() != 3) return false;
  const auto source = number_in(parts[0].view());
  if (!source || number_in(parts[1].view()) != kEngineTag) return false;
  const auto node = job_.map.node_of(static_cast<Rank>(*source));
  if (!node || own_.contains(static_cast<Rank>(*source))) return true;
  const std::string_view text = parts[2].view();
  if (text == kAsk) {
    sides_.catch_up();
    std::string place = listens_;
    if (!place.empty()) place += cat(" ", hex_digits(sides_.key(*node)));
    sides_.send(reply.rank,
                ask::Send{static_cast<Rank>(*source), kEngineTag, Chunk(std::move(place))});
  } else if (text.empty()) {
    sides_.tell(cat("nobody ", *node));
  } else if (is_place(text)) {
    sides_.tell(cat("peer ", *node, " ", text));
  }
  return true;
}

}  // namespace scela::nla
