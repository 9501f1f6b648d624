#include "hca/core/wire/variables.h"

#include <algorithm>
#include <iterator>

#include "common/core/text.h"
#include "hca/core/wire/job_socket.h"

namespace scela::hca {

static_assert(std::size(kVariables) > kEngineVariables &&
              kEngineVariables == static_cast<std::size_t>(Variable::trace) + 1);

Result<bool> parse_switch(Variable variable, std::string_view text) {
  if (text == "yes" || text == "1") return true;
  if (text.empty() || text == "no" || text == "0") return false;
  return fail(Error{ErrorKind::usage, cat("read ", name_of(variable)), "",
                    cat("'", text, "' is neither yes, 1, no nor 0"), ""});
}

std::uint64_t mark_of(Variable variable, std::string_view text) {
  switch (variable) {
    case Variable::encrypt:
    case Variable::no_open_qp:
    case Variable::no_xrc:
      if (const auto is_on = parse_switch(variable, text)) return *is_on ? 1 : 0;
      break;
    case Variable::strict:
      if (text == "0") return 0;
      break;
    case Variable::faults:
    case Variable::trace:
      break;
  }
  return text.empty() ? 0 : number_of(text);
}

std::string unknown_variable(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  if (!name.starts_with("SCELA_HCA_") ||
      std::ranges::find(kVariables, name) != std::end(kVariables))
    return {};
  std::string there_are;
  for (const std::string_view one : kVariables)
    there_are += cat(there_are.empty() ? "" : ", ", one);
  return cat("the variable ", name, " means nothing; there are ", there_are);
}

std::string without_effect(Variable variable, std::string_view text, std::uint64_t of_engine) {
  const std::uint64_t mark = mark_of(variable, text);
  // A process that does not ask for encryption accepts it: it is used if either end asks for it.
  if (text.empty() || mark == of_engine || (variable == Variable::encrypt && mark == 0)) return {};
  return cat(name_of(variable), "=", text, " does nothing here: the node's engine has begun ",
             of_engine == 0 ? "without it" : "with another",
             "; it is for the environment of scela-run, or of the job's first program on the node");
}

}  // namespace scela::hca
