#include "hca/engine/daemon/options.h"

#include <charconv>

#include "common/core/text.h"

namespace scela::hca {

namespace {

Error wrong(std::string why) {
  return {ErrorKind::usage, "read the command line", "", std::move(why),
          "scela-hca --help tells the options"};
}

bool parse_descriptor(std::string_view word, int& number) {
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  return parsed.ec == std::errc{} && parsed.ptr == end && number > 2;
}

}  // namespace

Result<Options> parse_options(std::span<const std::string_view> words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    std::string_view value;
    const std::size_t equals = word.starts_with("--") ? word.find('=') : word.npos;
    const bool joined = equals != word.npos;
    if (joined) value = word.substr(equals + 1);
    word = word.substr(0, equals);
    int* const descriptor = word == "--ready-fd"    ? &options.ready_fd
                            : word == "--fabric-fd" ? &options.fabric_fd
                            : word == "--listen-fd" ? &options.listen_fd
                                                    : nullptr;
    if (word == "--socket" || word == "--trace" || descriptor != nullptr) {
      if (!joined) {
        if (i + 1 == words.size()) return fail(wrong(cat(word, " wants a value")));
        value = words[++i];
      }
      if (word == "--socket") {
        if (value.empty()) return fail(wrong("--socket wants a path"));
        options.socket = value;
      } else if (word == "--trace") {
        if (value.empty()) return fail(wrong("--trace wants a file"));
        options.trace = value;
      } else if (!parse_descriptor(value, *descriptor)) {
        return fail(wrong(cat(word, " wants the number of an open descriptor, not '", value, "'")));
      }
      continue;
    }
    if (joined) return fail(wrong(cat("'", words[i], "' is no option, or takes no value")));
    if (word == "--until-idle") {
      options.until_idle = true;
    } else if (word == "--status") {
      options.action = Options::Action::status;
    } else if (word == "--json") {
      options.json = true;
    } else if (word == "--help" || word == "-h") {
      options.action = Options::Action::help;
      return options;
    } else if (word == "--version" || word == "-V") {
      options.action = Options::Action::version;
      return options;
    } else {
      return fail(wrong(cat("'", word, "' is no option")));
    }
  }
  if (options.json && options.action != Options::Action::status) {
    return fail(wrong("--json goes with --status"));
  }
  if (options.listen_fd >= 0 && !options.socket.empty()) {
    return fail(wrong("--socket and --listen-fd do not go together: that one has its place"));
  }
  return options;
}

std::string_view help_text() {
  return R"(usage: scela-hca [options]

Runs the software InfiniBand adapter of this node for programs that use libscela-ibverbs.so.1, which
starts it where none runs.

  --socket PATH   where programs find it; its directory is nobody else's.
                  Default: $SCELA_HCA_SOCKET, else scela-hca-UID/socket[.JOB] in $TMPDIR or /tmp
  --until-idle    end when the last program has gone, or when none comes
  --ready-fd N    write one byte to this descriptor once programs can connect
  --fabric-fd N   read from this descriptor which node of which job this is (man page)
  --listen-fd N   this descriptor is the socket, which whoever starts the engine keeps as well
  --trace FILE    write what it does and when as Chrome trace events; %p in the name is its number.
                  Default: $SCELA_HCA_TRACE, else none
  --status        print what the one that runs there has and has done, and end
  --json          with --status: for programs
  -h, --help      print this text
  -V, --version   print the version
)";
}

}  // namespace scela::hca
