// Writes a request of a session in one line, so that tests can compare it.
#pragma once

#include <string>

#include "common/core/overloaded.h"
#include "pmi/protocol/session_request.h"

namespace scela::pmi {

// Returns, for example, "2 of [a][b c] host=h; 1 of [d]; key=value" for two programs, a hint and a
// pair.
inline std::string text_of(const ask::SpawnRequest& spawn) {
  std::string text;
  for (const ask::SpawnProgram& program : spawn.programs) {
    text += (text.empty() ? "" : "; ") + std::to_string(program.ranks) + " of ";
    for (const std::string& word : program.argv)
      text += "[" + word + "]";
    for (const auto& [key, value] : program.infos)
      text += " " + key + "=" + value;
  }
  for (const auto& [key, value] : spawn.preput)
    text += "; " + key + "=" + value;
  return text;
}

inline std::string text_of(const ask::Name& name) {
  if (name.act == ask::NameAct::publish) return "publish " + name.name + "=" + name.port;
  return (name.act == ask::NameAct::lookup ? "lookup " : "unpublish ") + name.name;
}

// Returns the request to the job as text. A key has the prefix that the session puts before it.
inline std::string text_of(const ask::Request& request) {
  return std::visit(
      Overloaded{
          [](const ask::Put& put) {
            return "put " + put.key + "=" + std::string(put.value.view());
          },
          [](const ask::Get& get) { return "get " + get.key + (get.wait ? " waiting" : ""); },
          [](const ask::Collective& call) {
            if (call.kind == ask::CollectiveKind::allgather) return std::string("exchange");
            return "fence " + call.set.text() + " tag " + std::to_string(call.tag);
          },
          [](const ask::PutNode& put) { return "put_node " + put.key + "=" + put.value; },
          [](const ask::GetNode& get) {
            return "get_node " + get.key + (get.wait ? " waiting" : "");
          },
          [](const ask::Name& name) { return text_of(name); },
          [](const ask::Failed&) { return std::string("failed"); },
          [](const ask::Spawn& spawn) { return text_of(spawn.request); },
          [](const ask::Abort& abort) {
            return "abort " + std::to_string(abort.code) + " " + abort.why;
          },
          [](const ask::Violation& broken) { return "violation: " + broken.why; },
          [](const auto&) { return std::string("?"); },
      },
      request);
}

inline std::string name_of(const SessionRequest& request) {
  return std::visit(
      Overloaded{
          [](const ask::Request& asked) { return text_of(asked); },
          [](const SegmentRequest&) { return std::string("segment"); },
          [](const RingRequest&) { return std::string("ring"); },
          [](const LeftRequest& left) { return "left " + std::to_string(left.about); },
      },
      request);
}

}  // namespace scela::pmi
