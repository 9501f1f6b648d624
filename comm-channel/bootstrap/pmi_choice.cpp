// Finds out which of the two versions of PMI the server supports.
#include <cstdlib>
#include <optional>
#include <utility>

#include "comm-channel/bootstrap/pmi_spaces.h"
#include "common/core/text.h"
#include "pmi/client/process_mapping.h"

namespace scela::channel {

using pmi::client::Connection;

std::vector<std::string> node_names_of(std::string_view mapping, int size) {
  std::vector<std::string> names;
  for (const int node : pmi::client::nodes_of_ranks(mapping, size))
    names.push_back(cat("node ", node));
  if (names.size() != static_cast<std::size_t>(size)) names.clear();
  return names;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return line;
}

Error pmi_error(std::string what, std::string why, std::string hint) {
  return Error{ErrorKind::protocol, std::move(what), "", std::move(why), std::move(hint)};
}

namespace {

// Returns the variable that names the server, and its value.
std::string named_by() {
  for (const char* name : {"PMI_FD", "PMI_PORT"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr) return cat(name, " ", value);
  }
  return "";
}

// Returns whether the server supports this version.
Result<bool> speaks(Connection& connection, int version) {
  const auto answer = connection.ask(
      cat("cmd=init pmi_version=", version, " pmi_subversion=", version == 1 ? 1 : 0),
      "response_to_init");
  if (!answer) {
    Error error = answer.error();
    error.what = cat("greet the launcher: ", error.what);
    error.hint =
        "a server speaks with one party of each process: see that the launcher is still there, and "
        "that nothing else in this process speaks PMI (an MPI library that was initialized)";
    return fail(std::move(error));
  }
  return answer->ok() && answer->number("pmi_version").value_or(version) == version;
}

}  // namespace

Result<std::unique_ptr<Space>> open_pmi(SpaceKind kind) {
  const std::string by = named_by();
  auto opened = Connection::open("libscela");
  if (!opened) return fail(std::move(opened.error()));
  if (!*opened) return std::unique_ptr<Space>();
  Connection connection = std::move(**opened);
  if (kind != SpaceKind::pmi2) {
    const auto one = speaks(connection, 1);
    if (!one) return fail(one.error());
    if (*one) return begin_pmi1(std::move(connection), by);
  }
  if (kind != SpaceKind::pmi1) {
    const auto two = speaks(connection, 2);
    if (!two) return fail(two.error());
    if (*two) return begin_pmi2(std::move(connection), by);
  }
  const char* const tried = kind == SpaceKind::pmi1   ? "PMI-1"
                            : kind == SpaceKind::pmi2 ? "PMI-2"
                                                      : "PMI-1 and PMI-2";
  return fail(pmi_error(cat("speak ", tried, " with the server of ", by), "it refuses",
                        "set SCELA_BOOTSTRAP to auto, or use a launcher that speaks PMI or PMIx"));
}

}  // namespace scela::channel
