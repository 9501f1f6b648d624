#include "launcher/peer_front.h"

#include <utility>

#include "launcher/core/compat/line_gatherer.h"
#include "launcher/core/compat/peer_text.h"
#include "launcher/core/compat/peer_words.h"
#include "launcher/io/whole_files.h"

namespace scela {
namespace {

PeerVariables variables_of(char** environment) {
  PeerVariables out;
  for (char** entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const auto equals = text.find('='); equals != std::string_view::npos)
      out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

Result<std::string> gathered_input(bool coalesces) {
  auto input = read_standard_input("gather lines of standard input (dshbak)",
                                   "write less than 64 MiB of 'host: text' lines there");
  if (!input) return fail(std::move(input.error()));
  LineGatherer gatherer;
  for (std::string_view rest = *input; !rest.empty();) {
    const auto end = rest.find('\n');
    gatherer.add(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return gatherer.text(coalesces);
}

}  // namespace

Result<PeerFront> stand_for_peer(char** argv, char** environment) {
  const std::string program = *argv == nullptr ? "" : *argv;
  std::vector<std::string> words;
  for (char** word = *argv == nullptr ? argv : argv + 1; *word != nullptr; ++word)
    words.emplace_back(*word);
  auto command = peer_command(program, words);
  if (!command) return fail(std::move(command.error()));
  if (!*command) return PeerFront{std::move(words)};
  const auto read = [](const std::string& path) { return read_file(path, "host file"); };
  auto translated = translate(**command, variables_of(environment), read);
  if (!translated) return fail(std::move(translated.error()));
  PeerFront out{std::move(translated->words), std::move(translated->notes)};
  switch (translated->kind) {
    case PeerTranslation::Kind::job:
      break;
    case PeerTranslation::Kind::help:
      out.text = peer_help(translated->peer, (*command)->name);
      break;
    case PeerTranslation::Kind::gather: {
      auto text = gathered_input(translated->coalesces);
      if (!text) return fail(std::move(text.error()));
      out.text = std::move(*text);
      break;
    }
  }
  return out;
}

}  // namespace scela
