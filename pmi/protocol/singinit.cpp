#include "pmi/protocol/singinit.h"

#include "common/core/text.h"
#include "pmi/protocol/keyval.h"
#include "pmi/protocol/limits.h"

namespace scela::pmi::singinit {

namespace {

constexpr std::string_view kHello = "singinit";
constexpr std::string_view kInfo = "singinit_info";

tl::unexpected<Error> wrong(std::string_view line, std::string_view why) {
  return fail(Error{ErrorKind::protocol, "begin PMI without a launcher", "",
                    cat("'", excerpt(line), "' ", why), ""});
}

// Parses a line of this command in which `key` has this value. The sender may leave the key out.
Result<Line> read(std::string_view text, std::string_view command, std::string_view key,
                  std::string_view value) {
  auto line = parse_line(text);
  if (!line) return line;
  if (line->find("cmd") != command) return wrong(text, cat("is no ", command));
  const auto found = line->find(key);
  if (found && *found != value) return wrong(text, cat("says another ", key, " than ", value));
  return line;
}

}  // namespace

std::string hello() {
  return LineWriter(kHello).add("authtype", "none").text();
}

std::string hello_back() {
  return LineWriter(kHello)
      .add("pmi_version", 1)
      .add("pmi_subversion", 1)
      .add("stdio", "no")
      .add("authtype", "none")
      .text();
}

std::string info(std::string_view kvsname) {
  return LineWriter(kInfo)
      .add("versionok", "yes")
      .add("stdio", "no")
      .add("kvsname", kvsname)
      .text();
}

Result<void> read_hello(std::string_view line) {
  const auto read_line = read(line, kHello, "authtype", "none");
  if (!read_line) return fail(read_line.error());
  return {};
}

Result<void> read_hello_back(std::string_view line) {
  return read_hello(line);
}

Result<std::string> read_info(std::string_view line) {
  auto info = read(line, kInfo, "versionok", "yes");
  if (!info) return fail(std::move(info.error()));
  // With stdio=yes more connections would follow, for the standard streams.
  if (info->find("stdio").value_or("no") != "no") return wrong(line, "wants standard streams");
  const auto name = info->find("kvsname");
  if (!name || name->empty() || name->size() >= kMaxKvsname) return wrong(line, "has no kvsname");
  return std::string(*name);
}

}  // namespace scela::pmi::singinit
