// Topologies as hwloc has them: made up from a text ("pack:2 core:4 pu:2"), or read by hwloc from a
// machine or from a copy of a machine's files. Tests compare with them what this project reads
// itself.
#pragma once

#include <hwloc.h>

#include <string>
#include <vector>

#include "common/core/placement/topology.h"

namespace scela {

class HwlocTopology {
 public:
  HwlocTopology() { ::hwloc_topology_init(&topology_); }
  ~HwlocTopology() { ::hwloc_topology_destroy(topology_); }
  HwlocTopology(const HwlocTopology&) = delete;
  HwlocTopology& operator=(const HwlocTopology&) = delete;

  // Returns false if hwloc does not understand the text.
  bool load(const std::string& synthetic = {}) {
    ::hwloc_topology_set_flags(topology_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    // hwloc reads the kernel's files alone, as this project does. Some virtual machines show their
    // caches only to the processor's own instruction (CPUID).
    ::hwloc_topology_set_components(topology_, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (!synthetic.empty() && ::hwloc_topology_set_synthetic(topology_, synthetic.c_str()) != 0) {
      return false;
    }
    return ::hwloc_topology_load(topology_) == 0;
  }

  // Returns the processors with hwloc's own numbers.
  std::vector<Processor> processors() const {
    std::vector<Processor> out;
    hwloc_obj_t pu = nullptr;
    while ((pu = ::hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_PU, pu)) != nullptr) {
      Processor one;
      one.cpu = pu->os_index;
      one.core = above(pu, HWLOC_OBJ_CORE, pu->logical_index);
      one.l3 = above(pu, HWLOC_OBJ_L3CACHE, kNoObject);
      one.socket = above(pu, HWLOC_OBJ_PACKAGE, 0);
      const hwloc_obj_t package =
          ::hwloc_get_ancestor_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, pu);
      const hwloc_obj_t first = package == nullptr
                                    ? nullptr
                                    : ::hwloc_get_obj_inside_cpuset_by_type(
                                          topology_, package->cpuset, HWLOC_OBJ_CORE, 0);
      one.core_of_socket = first == nullptr ? one.core : one.core - first->logical_index;
      const int numa = ::hwloc_bitmap_first(pu->nodeset);
      const hwloc_obj_t node =
          numa < 0 ? nullptr
                   : ::hwloc_get_numanode_obj_by_os_index(topology_, static_cast<unsigned>(numa));
      one.numa = node == nullptr ? 0 : node->logical_index;
      const hwloc_obj_t core = ::hwloc_get_ancestor_obj_by_type(topology_, HWLOC_OBJ_CORE, pu);
      one.thread = core == nullptr ? 0 : pu->logical_index - first_of(core);
      out.push_back(one);
    }
    return out;
  }

  static Topology synthetic(const std::string& text) {
    HwlocTopology made;
    return made.load(text) ? Topology::from(made.processors()) : Topology();
  }

 private:
  unsigned above(hwloc_obj_t pu, hwloc_obj_type_t type, unsigned otherwise) const {
    const hwloc_obj_t object = ::hwloc_get_ancestor_obj_by_type(topology_, type, pu);
    return object == nullptr ? otherwise : object->logical_index;
  }
  unsigned first_of(hwloc_obj_t core) const {
    return ::hwloc_get_obj_inside_cpuset_by_type(topology_, core->cpuset, HWLOC_OBJ_PU, 0)
        ->logical_index;
  }

  hwloc_topology_t topology_ = nullptr;
};

}  // namespace scela
