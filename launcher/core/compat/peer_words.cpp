#include "launcher/core/compat/peer_words.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"
#include "launcher/core/compat/peer_defaults.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

// Calls `visit` with each part of the text between blanks, until it returns true. Returns whether
// it did.
template <class Visit>
bool any_word(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (visit(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

// Reads the options and programs of one command line into a PeerCall.
class PeerReader {
 public:
  PeerReader(Peer peer, const PeerCommand& command, const PeerVariables& variables,
             const HostSourceReader& read)
      : command_(command), words_(command.words), call_{peer, variables, read} {}

  // Returns true if the error of translate() is that the peer does not know an option.
  bool met_unknown_option() const { return met_unknown_; }

  Result<PeerTranslation> translate() {
    do {
      if (auto done = read_options(); !done) return fail(std::move(done.error()));
      if (!call_.file_words.empty()) {
        if (auto done = read_file_words(); !done) return fail(std::move(done.error()));
        continue;
      }
      while (!at_end() && !(runs_ranks(call_.peer) && word() == ":"))
        call_.program().argv.push_back(words_[next_++]);
      if (at_end()) break;
      ++next_;
      call_.programs.emplace_back();
    } while (true);
    return finish();
  }

 private:
  bool at_end() const { return next_ == words_.size(); }
  const std::string& word() const { return words_[next_]; }

  // Goes on with the programs of a file, behind the options of the command line.
  Result<void> read_file_words() {
    if (!at_end()) {
      return fail(Error{ErrorKind::usage, cat("read the command line of ", command_.name), "",
                        cat("a file names the programs, and so does '", word(), "'"),
                        "leave one of them out"});
    }
    for (std::string& one : std::exchange(call_.file_words, {}))
      words_.push_back(std::move(one));
    return {};
  }

  Result<void> read_options() {
    while (!at_end()) {
      const std::string& text = word();
      if (text == "--") {
        ++next_;
        return {};
      }
      if (text.size() < 2 || text[0] != '-') return {};
      ++next_;
      // Tools without long options have it too here, so that --as NAME --help always works.
      if (text == "--help") {
        if (auto done = call_.add(text); !done) return done;
        continue;
      }
      const bool is_whole = has_word_options(call_.peer) || text[1] == '-';
      if (auto done = is_whole ? read_word(text) : read_letters(text); !done) return done;
    }
    return {};
  }

  // Reads "-name", "--name" or "--name=value".
  Result<void> read_word(const std::string& text) {
    const auto equals = text.find('=');
    const std::string typed = text.substr(0, equals);
    const PeerOption* row = has_word_options(call_.peer) ? find_word(typed) : find_long(typed);
    if (row == nullptr) return fail(unknown(typed));
    std::optional<std::string> value;
    if (equals != std::string::npos) value = text.substr(equals + 1);
    return read_value(*row, typed, value);
  }

  // Reads "-l", "-lv", "-n4" and "-n".
  Result<void> read_letters(const std::string& text) {
    for (std::size_t i = 1; i < text.size(); ++i) {
      const std::string typed = {'-', text[i]};
      const PeerOption* row = find_exact(typed);
      if (row == nullptr) return fail(unknown(typed));
      std::optional<std::string> rest;
      if (row->takes != PeerArgument::none && i + 1 < text.size()) rest = text.substr(i + 1);
      const bool is_last = rest.has_value();
      if (auto done = read_value(*row, typed, rest); !done) return done;
      if (is_last) return {};
    }
    return {};
  }

  // Reads the value that the option takes, behind `attached` or in the next words, and applies it.
  Result<void> read_value(const PeerOption& row, const std::string& typed,
                          const std::optional<std::string>& attached) {
    if (row.takes == PeerArgument::none && attached)
      return fail(located(value_error("it takes no value", "leave the value out"), typed));
    if (row.takes == PeerArgument::none || row.takes == PeerArgument::attached || attached)
      return apply(row, typed, attached.value_or(""));
    const bool is_variable =
        row.takes == PeerArgument::variable && !at_end() && word().find('=') != std::string::npos;
    const std::size_t wanted = row.takes == PeerArgument::one || is_variable ? 1 : 2;
    if (words_.size() - next_ < wanted) {
      return fail(located(
          value_error(wanted == 1 ? "its value is missing" : "its name and value are missing",
                      cat("write ", typed, wanted == 1 ? " VALUE" : " NAME VALUE")),
          typed));
    }
    std::string value = words_[next_++];
    if (wanted == 2) value += cat("=", words_[next_++]);
    return apply(row, typed, value);
  }

  Result<void> apply(const PeerOption& row, const std::string& typed, const std::string& value) {
    if (row.verdict == PeerVerdict::refused)
      return fail(located(value_error(std::string(row.text), std::string(row.instead)), typed));
    Result<void> done;
    if (row.convert != nullptr) {
      done = row.convert(call_, value);
    } else {
      any_word(row.becomes, [&](std::string_view part) {
        std::string made(part);
        if (const auto at = made.find("{}"); at != std::string::npos) made.replace(at, 2, value);
        done = call_.add(std::move(made));
        return !done;
      });
    }
    if (!done) return fail(located(std::move(done.error()), typed));
    return done;
  }

  Error located(Error error, const std::string& typed) const {
    error.kind = ErrorKind::usage;
    if (error.what.empty()) error.what = cat("option ", typed, " of ", command_.name);
    return error;
  }

  Error unknown(const std::string& typed) {
    met_unknown_ = true;
    return Error{ErrorKind::usage, cat("unknown option ", typed, " of ", command_.name), "", "",
                 cat("scela-run --as ", command_.name, " --help lists all of them")};
  }

  template <class Matches>
  const PeerOption* find(Matches matches) const {
    for (const PeerOption& row : peer_options(call_.peer))
      if (any_word(row.spellings, matches)) return &row;
    return nullptr;
  }
  const PeerOption* find_exact(std::string_view typed) const {
    return find([&](std::string_view spelling) { return spelling == typed; });
  }
  const PeerOption* find_word(std::string_view typed) const {
    const std::string_view name = without_dashes(typed);
    return find([&](std::string_view spelling) { return without_dashes(spelling) == name; });
  }
  // As getopt_long(3), takes the beginning of a name if it begins that of one row only.
  const PeerOption* find_long(std::string_view typed) const {
    if (const PeerOption* row = find_exact(typed)) return row;
    const PeerOption* found = nullptr;
    for (const PeerOption& row : peer_options(call_.peer)) {
      const auto begins = [&](std::string_view spelling) { return spelling.starts_with(typed); };
      if (!any_word(row.spellings, begins)) continue;
      if (found != nullptr) return nullptr;
      found = &row;
    }
    return found;
  }

  Result<PeerTranslation> finish() {
    PeerTranslation out;
    out.peer = call_.peer;
    if (call_.has("help")) {
      out.kind = PeerTranslation::Kind::help;
      return out;
    }
    if (call_.has("version")) {
      out.words = {"--version"};
      return out;
    }
    if (call_.peer == Peer::pdcp) {
      return fail(Error{ErrorKind::usage, "copy files (pdcp)", "", "scela-run copies no files yet",
                        "use scp or rsync for each host"});
    }
    if (call_.peer == Peer::dshbak) {
      if (!call_.program().argv.empty()) {
        return fail(Error{ErrorKind::usage, "gather lines (dshbak)", "", "no file is read",
                          "write dshbak < FILE"});
      }
      out.kind = PeerTranslation::Kind::gather;
      out.coalesces = call_.coalesces;
      return out;
    }
    if (auto done = add_defaults(call_); !done) return fail(std::move(done.error()));
    out.notes = std::move(call_.notes);
    out.words = std::move(call_.job);
    for (std::size_t i = 0; i < call_.programs.size(); ++i) {
      PeerProgram& program = call_.programs[i];
      if (i > 0) out.words.emplace_back(":");
      out.words.insert(out.words.end(), program.options.begin(), program.options.end());
      if (!program.argv.empty() && program.argv.front().starts_with('-'))
        out.words.emplace_back("--");
      out.words.insert(out.words.end(), program.argv.begin(), program.argv.end());
    }
    return out;
  }

  const PeerCommand& command_;
  std::vector<std::string> words_;  // those of the command, and of a file that names programs
  PeerCall call_;
  std::size_t next_ = 0;
  bool met_unknown_ = false;
};

}  // namespace

Result<std::optional<PeerCommand>> peer_command(std::string_view program,
                                                std::vector<std::string> words) {
  constexpr std::string_view kAs = "--as";
  std::optional<PeerCommand> out;
  if (!words.empty() && (words[0] == kAs || words[0].starts_with("--as="))) {
    const bool is_apart = words[0] == kAs;
    std::string name =
        is_apart ? (words.size() > 1 ? words[1] : "") : words[0].substr(kAs.size() + 1);
    if (find_peer(name) == nullptr) {
      std::string known;
      for (const PeerName& one : peer_names())
        known += cat(known.empty() ? "" : ", ", one.name);
      return fail(Error{ErrorKind::usage, "option --as", "",
                        name.empty() ? std::string("its value is missing")
                                     : cat("'", name, "' is no tool that scela-run can stand for"),
                        cat("give ", known)});
    }
    words.erase(words.begin(), words.begin() + (is_apart ? 2 : 1));
    out = PeerCommand{std::move(name), std::move(words)};
    return out;
  }
  const std::string_view base = program.substr(program.rfind('/') + 1);
  if (find_peer(base) != nullptr) out = PeerCommand{std::string(base), std::move(words)};
  return out;
}

Result<PeerTranslation> translate(const PeerCommand& command, const PeerVariables& variables,
                                  const HostSourceReader& read) {
  const PeerName* name = find_peer(command.name);
  if (name == nullptr) {
    return fail(Error{ErrorKind::usage, cat("stand for ", command.name), "",
                      "there is no such tool", "see scela-run --help"});
  }
  PeerReader reader(name->peer, command, variables, read);
  auto done = reader.translate();
  if (done || !reader.met_unknown_option() || !name->other) return done;
  PeerReader other(*name->other, command, variables, read);
  auto second = other.translate();
  if (!second && other.met_unknown_option()) return done;
  return second;
}

}  // namespace scela
