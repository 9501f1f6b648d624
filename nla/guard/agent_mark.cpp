#include "nla/guard/agent_mark.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <string_view>

#include "common/core/bytes.h"
#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/crypto/hmac.h"
#include "common/os/process/process_tree.h"
#include "common/os/syscall.h"
#include "nla/core/wire/link_frames.h"

namespace scela::nla {

namespace {

// Returns the value of the option in a command line as /proc shows it: each word ends with a zero.
std::string_view shown_mark(std::string_view words) {
  const std::string option = std::string(1, '\0') + kMarkOption + '\0';
  const std::size_t at = words.find(option);
  return at == std::string_view::npos ? std::string_view()
                                      : words.substr(at + option.size(), kMarkLength);
}

}  // namespace

std::string room_for_mark() {
  return std::string(kMarkLength, '-');
}

std::string AgentMarks::mark_of(pid_t pid) const {
  ProcessFacts facts;
  if (key_.size() != kCommonKeyBytes || !facts_of(pid, facts)) return {};
  ByteWriter about;
  about.raw("scela agent");
  about.varint(static_cast<std::uint64_t>(pid));
  about.varint(facts.started);
  return hex_digits(hmac_sha256(key_, about.take())).substr(0, kMarkLength);
}

bool AgentMarks::is_agent(pid_t pid) const {
  const std::string words = read_small_file(cat("/proc/", pid, "/cmdline").c_str());
  const std::string_view shown = shown_mark(words);
  // Most processes show no mark, and none of these costs a digest.
  if (shown.size() != kMarkLength) return false;
  ProcessFacts facts;
  if (!facts_of(pid, facts) || facts.session != pid) return false;
  const std::string own = mark_of(pid);
  return !own.empty() && ::CRYPTO_memcmp(own.data(), shown.data(), kMarkLength) == 0;
}

void show_mark(char* room, const std::string& mark) {
  if (room != nullptr && mark.size() == kMarkLength) std::ranges::copy(mark, room);
}

}  // namespace scela::nla
