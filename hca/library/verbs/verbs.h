// The header infiniband/verbs.h as this library defines it: the functions declared here are visible
// to programs. The .cpp files of the library include it instead of the original.
//
// It also declares functions that libibverbs exports and the headers of libibverbs-dev do not. Any
// thread may call them.
#pragma once

#pragma GCC visibility push(default)

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "hca/include/scela/verbs_ext.h"

// These macros would put inline functions in front of the functions of the same names.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct ib_uverbs_ah_attr;
struct ib_uverbs_qp_attr;
struct ib_user_path_rec;
struct ibv_sa_path_rec;

extern "C" {
// The functions that return an int return -1 and set errno if they fail. ibv_read_sysfs_file()
// returns the length of the text. ibv_register_driver(), ibv_dontfork_range() and
// ibv_dofork_range() do nothing: the adapter has no driver, and memory stays usable after a fork.
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* directory, const char* file, char* text, std::size_t bytes);
int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, int* type);
void ibv_register_driver(const char* name, void* init);
int ibv_dontfork_range(void* base, std::size_t bytes);
int ibv_dofork_range(void* base, std::size_t bytes);
void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, ib_uverbs_ah_attr* from);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, ib_uverbs_qp_attr* from);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, ib_user_path_rec* from);
void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, ibv_sa_path_rec* from);
}

#pragma GCC visibility pop
