// The lines of text in which scela-pmix tells scela-run of a resource manager's PMIx server. Its
// tool modes (pmix/server/tool.h) write them; launcher/core/detect and
// launcher/hosts/node_losses.h read them. Pure; any thread may call the functions.
//
// The allocation is written at once:
//
//     scela-pmix allocation 1
//     server NAMESPACE.RANK
//     query PMIX_QUERY_ALLOCATION
//     host NAME SLOTS        for each host; SLOTS is "-" if the server does not count them
//     end
//
// Losses of nodes are lines of their own as they happen. "listening" comes first.
//
//     listening
//     lost NAME EVENT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"

namespace scela {

// A host of an allocation.
struct ResourceHost {
  std::string name;
  std::optional<std::uint32_t> slots;  // at least 1; absent: not told
  friend bool operator==(const ResourceHost&, const ResourceHost&) = default;
};

// The allocation that a server has told.
struct ResourceAnswer {
  std::string server;  // its name: "NAMESPACE.RANK"
  std::string query;   // the name of the attribute that it has answered
  std::vector<ResourceHost> hosts;
  friend bool operator==(const ResourceAnswer&, const ResourceAnswer&) = default;
};

// A node that its resource manager has lost.
struct LostNode {
  std::string name;
  std::string event;  // the name of the PMIx event
  friend bool operator==(const LostNode&, const LostNode&) = default;
};

// Returns true if the text can be a word of a line, and the name of a host: 1 to 255 printable
// ASCII characters without blanks and commas, of which the first is no dash.
bool is_resource_word(std::string_view text);

// Returns the text of an allocation, of which all texts must be words.
std::string text_of(const ResourceAnswer& answer);
// Reads such a text. Returns an error (kind protocol) that names the first line that is wrong. A
// host that is named twice is an error too, and so is a text of which the end is missing.
Result<ResourceAnswer> read_resource_answer(std::string_view text);

// Returns the line of a loss, without its end. Both texts must be words.
std::string text_of(const LostNode& lost);
// Returns the loss that the line tells. Returns std::nullopt if it is another line.
std::optional<LostNode> read_lost_node(std::string_view line);

}  // namespace scela
