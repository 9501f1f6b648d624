// infiniband/verbs.h as this library defines it: with the functions that it is to show to programs.
//
// What the headers of libibverbs-dev do not declare, though libibverbs shows it, stands here as
// well.
#pragma once

#pragma GCC visibility push(default)

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "hca/include/scela/verbs_ext.h"

// Inline functions that stand in front of the functions of these names.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct ib_uverbs_ah_attr;
struct ib_uverbs_qp_attr;
struct ib_user_path_rec;
struct ibv_sa_path_rec;

extern "C" {
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
