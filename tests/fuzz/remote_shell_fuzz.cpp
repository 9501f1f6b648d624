// Fuzzes what a login shell and a parent may say before there are frames: answers between noise,
// and contacts. Answers do not depend on how the text is cut. A contact that is read is written
// back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "nla/core/tree/remote_shell.h"
#include "nla/core/wire/contact.h"

namespace {

using scela::nla::AnswerScanner;
using scela::nla::RemoteAnswer;

std::vector<RemoteAnswer> answers(std::string_view text, std::size_t piece) {
  AnswerScanner scanner;
  std::vector<RemoteAnswer> out;
  while (!text.empty()) {
    std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    while (!part.empty()) {
      const std::size_t before = part.size();
      const auto answer = scanner.feed(part);
      if (!answer) return out;
      if (part.size() >= before) std::abort();
      if (*answer) out.push_back(**answer);
    }
  }
  if (scanner.noise().size() > AnswerScanner::kMaxLine) std::abort();
  return out;
}

void check_contact(std::string_view line) {
  const auto contact = scela::nla::parse_contact(line);
  if (!contact) return;
  if (contact->name != scela::nla::contact_name(line)) std::abort();
  const auto again = scela::nla::parse_contact(scela::nla::format(*contact));
  if (!again || !(*again == *contact)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (answers(text, 1) != answers(text, size + 1)) std::abort();
  check_contact(text.substr(0, text.find('\n')));
  return 0;
}
