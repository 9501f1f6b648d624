// The library's one device: functions for a program that has opened it, and its name. Any thread
// may call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hca/library/verbs/verbs.h"

namespace scela::hca::library {

inline constexpr char kDeviceName[] = "scela_hca0";

// Functions of verbs_context. Each does what the verb of that name does. Those that return an int
// return 0 or an errno. Those that return a pointer return null and set errno. `bytes` is the size
// of the structure that the program was compiled with.
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t bytes);
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t bytes);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);

}  // namespace scela::hca::library
