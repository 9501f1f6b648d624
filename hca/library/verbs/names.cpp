// The names of values, as programs print them, and rates.
#include <iterator>

#include "hca/library/verbs/verbs.h"

namespace {

template <std::size_t Count>
const char* name_in(const char* const (&names)[Count], int value) {
  return value >= 0 && static_cast<std::size_t>(value) < Count ? names[value] : "unknown";
}

// These are the texts of libibverbs, because people search for them.
constexpr const char* kStatuses[] = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};

constexpr const char* kEvents[] = {
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};

constexpr const char* kNodes[] = {
    "unknown",           "InfiniBand channel adapter",
    "InfiniBand switch", "InfiniBand router",
    "iWARP NIC",         "usNIC",
    "usNIC UDP",         "unspecified",
};

constexpr const char* kPortStates[] = {
    "no state change (NOP)", "down", "init", "armed", "active", "active defer",
};

struct Rate {
  ibv_rate rate;
  int multiple;  // times 2.5 Gbit/s; -1: none
  int mbps;
};

constexpr Rate kRates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500},       {IBV_RATE_5_GBPS, 2, 5000},
    {IBV_RATE_10_GBPS, 4, 10000},       {IBV_RATE_20_GBPS, 8, 20000},
    {IBV_RATE_30_GBPS, 12, 30000},      {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000},      {IBV_RATE_80_GBPS, 32, 80000},
    {IBV_RATE_120_GBPS, 48, 120000},    {IBV_RATE_14_GBPS, -1, 14062},
    {IBV_RATE_56_GBPS, -1, 56250},      {IBV_RATE_112_GBPS, -1, 112500},
    {IBV_RATE_168_GBPS, -1, 168750},    {IBV_RATE_25_GBPS, -1, 25781},
    {IBV_RATE_100_GBPS, -1, 103125},    {IBV_RATE_200_GBPS, -1, 206250},
    {IBV_RATE_300_GBPS, -1, 309375},    {IBV_RATE_28_GBPS, 11, 28125},
    {IBV_RATE_50_GBPS, 20, 53125},      {IBV_RATE_400_GBPS, 160, 425000},
    {IBV_RATE_600_GBPS, 240, 637500},   {IBV_RATE_800_GBPS, 320, 850000},
    {IBV_RATE_1200_GBPS, 480, 1275000},
};

}  // namespace

extern "C" {

const char* ibv_wc_status_str(ibv_wc_status status) {
  return name_in(kStatuses, status);
}

const char* ibv_event_type_str(ibv_event_type event) {
  return name_in(kEvents, event);
}

const char* ibv_node_type_str(ibv_node_type type) {
  return name_in(kNodes, type);
}

const char* ibv_port_state_str(ibv_port_state state) {
  return name_in(kPortStates, state);
}

int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& known : kRates) {
    if (known.rate == rate) return known.multiple;
  }
  return -1;
}

ibv_rate mult_to_ibv_rate(int multiple) {
  for (const Rate& known : kRates) {
    if (known.multiple == multiple && multiple > 0) return known.rate;
  }
  return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& known : kRates) {
    if (known.rate == rate) return known.mbps;
  }
  return -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& known : kRates) {
    if (known.mbps == mbps) return known.rate;
  }
  return IBV_RATE_MAX;
}

}  // extern "C"
