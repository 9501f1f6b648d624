// Parses the lists of hosts and counts that schedulers write into variables and files. The readers
// of the schedulers use it (readers.h). All functions are pure. Errors have kind usage and say
// which text was not understood; the caller adds where it stands.
//
// A host's name consists of letters, digits, '.', '-' and '_', and does not begin with '-'. So a
// name is never taken for an option or for a part of a shell command.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/detect/allocation.h"

namespace scela {

// Limits against damaged lists: hosts of an allocation, and slots or processors of one host.
inline constexpr std::size_t kMaxAllocatedHosts = 1'000'000;
inline constexpr std::uint32_t kMaxOfHost = 1u << 20;

// Expands a list of Slurm or Flux: "node[001-004,7],x[1-2]-int,r[1-2]n[01-04]". Brackets may be
// anywhere in a name, several times, with text behind them. A number keeps the width with which its
// range begins. The result has the list's order, with repeated names.
Result<std::vector<std::string>> expand_node_list(std::string_view list);

// Expands counts of Slurm: "16(x2),8" is 16, 16, 8. Returns at most `most` numbers, each from 1 to
// kMaxOfHost. Returns an error if there are more.
Result<std::vector<std::uint32_t>> expand_counts(std::string_view list, std::size_t most);

// Reads a file with one line for each slot: the first word of a line is a host (PBS, LSF,
// LoadLeveler, Slurm's arbitrary distribution). Empty lines and comments after '#' do not count.
Result<std::vector<AllocatedHost>> hosts_by_line(std::string_view text);

// Reads Grid Engine's PE_HOSTFILE: lines "HOST SLOTS QUEUE PROCESSORS". A host of several queues
// has the sum of their slots. PROCESSORS is "UNDEFINED", "<NULL>", or a binding "0,0:0,1" of socket
// and core, of which the pairs are counted.
Result<std::vector<AllocatedHost>> parse_pe_hostfile(std::string_view text);

// Reads LSF's LSB_MCPU_HOSTS: "host1 4 host2 4".
Result<std::vector<AllocatedHost>> parse_mcpu_hosts(std::string_view text);

// Adds processors from LSF's LSB_AFFINITY_HOSTFILE to `hosts`: lines "HOST CPU,CPU-CPU ...". The
// file may name a host in another form (node1, node1.cluster), so hosts are compared up to the
// first '.'. Hosts that are not in `hosts` are left out.
Result<void> add_affinity(std::string_view text, std::vector<AllocatedHost>& hosts);

// Collects hosts in the order of their first mention. A host that is added again has the sum of its
// slots.
class HostTally {
 public:
  // Returns an error if the name is no host's name, or a limit above is exceeded.
  Result<void> add(std::string_view name, std::uint32_t slots);
  // Returns the hosts, and forgets them.
  std::vector<AllocatedHost> take();

 private:
  std::vector<AllocatedHost> hosts_;
  std::map<std::string, std::size_t, std::less<>> positions_;  // of names in hosts_
};

// Returns the part of a name before its first '.': "node1" for "node1.cluster.example".
std::string_view short_name(std::string_view host);

}  // namespace scela
