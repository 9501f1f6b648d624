#include "nla/dial/join_words.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <vector>

#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/crypto/hmac.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"
#include "nla/dial/dial_hello.h"

namespace scela::nla {

namespace {

constexpr std::string_view kCall = "scela-join", kVersion = "1", kJoin = "join",
                           kWelcome = "welcome ", kRefused = "refused ", kLate = "late ";
constexpr std::size_t kMinKey = 16, kMaxKey = 4096;

std::vector<std::string_view> words_in(std::string_view line) {
  std::vector<std::string_view> out;
  while (out.size() < 8) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    out.push_back(line.substr(0, blank));
    if (blank == line.size()) return out;
    line.remove_prefix(blank + 1);
  }
  return {};
}

bool is_random(std::string_view word) {
  return word.size() == kDialSecretDigits && is_hex(word);
}

tl::unexpected<Error> bad_join(std::string why = "it is malformed") {
  return fail(Error{ErrorKind::protocol, "join a job", {}, std::move(why), {}});
}

// Returns a text of the other side for the user: bounded, and nothing that a terminal obeys.
std::string printable_ascii(std::string_view text) {
  std::string out(text.substr(0, 200));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

std::string request_words(const JoinRequest& request) {
  return cat(kJoin, " ", request.build, " ", request.name, " ", request.slots, " ",
             request.challenge);
}

std::string agents_proof(std::string_view words, const JoinCall& call, std::string_view key) {
  return keyed_proof(cat(call.job, " ", call.challenge, " ", words), key, "scela join, agent");
}

std::string runs_proof(const JoinRequest& request, const JoinCall& call, std::string_view key) {
  return keyed_proof(cat(call.job, " ", call.challenge, " ", request_words(request)), key,
                     "scela join, scela-run");
}

}  // namespace

bool is_join_name(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.front() != '-' &&
         std::ranges::all_of(name, [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::string format(const JoinCall& call) {
  return cat(kCall, " ", kVersion, " ", call.job, " ", call.challenge, "\n");
}

Result<JoinCall> parse_join_call(std::string_view line) {
  const auto words = words_in(line);
  if (words.size() != 4 || words[0] != kCall) return bad_join("it is no scela-run that listens");
  if (words[1] != kVersion) return bad_join("that scela-run is of another version");
  if (!is_random(words[2]) || !is_random(words[3])) return bad_join();
  return JoinCall{std::string(words[2]), std::string(words[3])};
}

std::string format(const JoinRequest& request, const JoinCall& call, std::string_view key) {
  const std::string words = request_words(request);
  return cat(words, " ", agents_proof(words, call, key), "\n");
}

Result<JoinRequest> parse_join_request(std::string_view line, const JoinCall& call,
                                       std::string_view key) {
  const auto words = words_in(line);
  if (words.size() != 6 || words[0] != kJoin) return bad_join();
  const std::string_view said = line.substr(0, line.rfind(' '));
  if (!is_equal_secret(agents_proof(said, call, key), words[5]))
    return bad_join("its key is another one");
  JoinRequest out{std::string(words[1]), std::string(words[2]), 0, std::string(words[4])};
  const char* const end = words[3].data() + words[3].size();
  const auto [at, error] = std::from_chars(words[3].data(), end, out.slots);
  const bool has_slots =
      error == std::errc() && at == end && out.slots > 0 && out.slots <= kMaxJoinSlots;
  if (!has_slots || !is_join_name(out.name) || !is_random(out.challenge)) return bad_join();
  return out;
}

std::string welcome_line(const JoinRequest& request, const JoinCall& call, std::string_view key) {
  return cat(kWelcome, runs_proof(request, call, key), "\n");
}

std::string refusal_line(std::string_view why) {
  return cat(kRefused, why, "\n");
}

std::string late_line(std::string_view why) {
  return cat(kLate, why, "\n");
}

Result<void> check_join_answer(std::string_view line, const JoinRequest& request,
                               const JoinCall& call, std::string_view key) {
  if (line.starts_with(kRefused))
    return bad_join(cat("scela-run refuses: ", printable_ascii(line.substr(kRefused.size()))));
  if (line.starts_with(kLate)) {
    return fail(
        Error{ErrorKind::launch, "join a job", {}, printable_ascii(line.substr(kLate.size())), {}});
  }
  if (!line.starts_with(kWelcome)) return bad_join();
  if (!is_equal_secret(runs_proof(request, call, key), line.substr(kWelcome.size())))
    return bad_join("scela-run has another key");
  return {};
}

std::string join_secret(std::string_view key, std::string_view job) {
  return keyed_proof(job, key, "scela join, secret of the job");
}

Result<std::string> read_join_key(const std::string& path) {
  const auto failed = [&](std::string why, std::string hint = {}) {
    return fail(Error{ErrorKind::usage, "read the key (--key-file)", path, std::move(why),
                      std::move(hint)});
  };
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0) return failed(errno_text(errno));
  if (!S_ISREG(facts.st_mode)) return failed("it is no file");
  if (facts.st_uid == ::getuid() && (facts.st_mode & 077) != 0)
    return failed("others may read or change it", cat("chmod 600 ", path));
  std::string key(kMaxKey + 2, '\0');
  const ssize_t got = retry([&] { return ::read(file.get(), key.data(), key.size()); });
  if (got < 0) return failed(errno_text(errno));
  key.resize(static_cast<std::size_t>(got));
  if (key.ends_with('\n')) key.pop_back();
  if (key.size() < kMinKey || key.size() > kMaxKey)
    return failed(cat("a key has ", kMinKey, " to ", kMaxKey, " bytes, and this one ",
                      key.size() > kMaxKey ? "more" : cat(key.size())),
                  "make one with: openssl rand -hex 32");
  return key;
}

}  // namespace scela::nla
