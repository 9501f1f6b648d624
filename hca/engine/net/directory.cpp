#include "hca/engine/net/directory.h"

#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "hca/engine/net/fabric_record.h"

namespace scela::hca {

namespace {

// No valid message is longer.
constexpr std::size_t kLongest = 256;

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<Directory::Answer> parse(std::string_view text) {
  const bool found = take_word(text, "peer ");
  if (!found && !take_word(text, "nobody ")) return std::nullopt;
  Directory::Answer answer;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, answer.node);
  if (number.ec != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(number.ptr - text.data()));
  if (!found) return text.empty() ? std::optional(answer) : std::nullopt;
  if (!take_word(text, " ")) return std::nullopt;
  const std::size_t space = text.find(' ');
  if (space != text.npos && !parse_key(text.substr(space + 1), answer.key)) return std::nullopt;
  answer.endpoint = Endpoint::parse(text.substr(0, space));
  if (!answer.endpoint || answer.endpoint->port == 0) return std::nullopt;
  return answer;
}

}  // namespace

void Directory::tell(const std::string& text) const {
  static_cast<void>(retry([&] {
    return ::send(socket_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }));
}

void Directory::tell_listening(const Endpoint& at) const {
  tell(cat("listening ", at.text()));
}

void Directory::ask(std::uint32_t node) const {
  tell(cat("where ", node));
}

Directory::Received Directory::hear(Answer& answer) const {
  while (true) {
    char text[kLongest];
    const ssize_t got =
        retry([&] { return ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT | MSG_TRUNC); });
    if (got < 0 && errno == EAGAIN) return Received::nothing;
    if (got <= 0) return Received::end;
    if (static_cast<std::size_t>(got) > sizeof text) continue;
    auto parsed = parse({text, static_cast<std::size_t>(got)});
    ::explicit_bzero(text, sizeof text);
    if (parsed) {
      answer = std::move(*parsed);
      return Received::answer;
    }
  }
}

}  // namespace scela::hca
