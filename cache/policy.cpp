#include "cache/policy.h"

#include "cache/dht.h"
#include "cache/hcmab.h"
#include "cache/hcmab_lru.h"
#include "cache/store.h"
#include "cache/upward.h"
#include "common/core/bytes.h"

namespace scela::cache {

std::string_view name_of(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::hcs:
      return "hcs";
    case PolicyKind::hcma:
      return "hcma";
    case PolicyKind::hcmab:
      return "hcmab";
    case PolicyKind::hcmab_lru:
      return "hcmab-lru";
    case PolicyKind::dht:
      return "dht";
  }
  return "unknown";
}

namespace {

struct Pair {
  std::string_view key;
  std::string_view value;
  Stamp stamp = 0;
};

Pair read_pair(ByteReader& in) {
  Pair out;
  const std::uint64_t head = in.varint();
  if (head % 2 != 0) {
    out.stamp = in.varint32();
    if (out.stamp == 0) in.fail();
  }
  out.key = in.raw(head / 2);
  out.value = in.text();
  return out;
}

}  // namespace

void append_pair(std::string& out, std::string_view key, std::string_view value, Stamp stamp) {
  ByteWriter pair;
  pair.varint(std::uint64_t{key.size()} * 2 + (stamp > 0 ? 1 : 0));
  if (stamp > 0) pair.varint(stamp);
  pair.raw(key);
  pair.text(value);
  out += pair.bytes();
}

bool for_each_pair(std::string_view aggregate,
                   const std::function<void(std::string_view, std::string_view)>& each) {
  return for_each_stamped(
      aggregate, [&](std::string_view key, std::string_view value, Stamp) { each(key, value); });
}

bool for_each_stamped(std::string_view aggregate,
                      const std::function<void(std::string_view, std::string_view, Stamp)>& each) {
  ByteReader in(aggregate);
  while (!in.done()) {
    const Pair pair = read_pair(in);
    if (!in.ok()) return false;
    each(pair.key, pair.value, pair.stamp);
  }
  return true;
}

void for_each_piece(std::string_view aggregate, std::size_t most,
                    const std::function<void(std::string_view)>& each) {
  ByteReader in(aggregate);
  std::size_t begin = 0;
  std::size_t end = 0;
  while (!in.done()) {
    read_pair(in);
    if (!in.ok()) break;
    const std::size_t here = aggregate.size() - in.rest().size();
    if (here - begin > most && end > begin) {
      each(aggregate.substr(begin, end - begin));
      begin = end;
    }
    end = here;
  }
  if (end > begin) each(aggregate.substr(begin, end - begin));
}

bool evicts(PolicyKind kind, std::uint64_t limit) {
  switch (kind) {
    case PolicyKind::hcs:
    case PolicyKind::hcma:
      return limit > 0;
    case PolicyKind::hcmab:
      break;
    case PolicyKind::hcmab_lru:
    case PolicyKind::dht:
      return true;
  }
  return false;
}

std::uint64_t Policy::taken() {
  return table().taken();
}

std::unique_ptr<Policy> make_policy(PolicyKind kind, const Place& place) {
  switch (kind) {
    case PolicyKind::hcs:
      return std::make_unique<Hcs>(place);
    case PolicyKind::hcma:
      return std::make_unique<Hcma>(place);
    case PolicyKind::hcmab:
      break;
    case PolicyKind::hcmab_lru:
      return std::make_unique<HcmabLru>(place);
    case PolicyKind::dht:
      return std::make_unique<Dht>(place);
  }
  return std::make_unique<Hcmab>();
}

}  // namespace scela::cache
