#include "comm-channel/net/port/port_datagrams.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/core/text.h"

namespace scela::channel {

using connect::kHandshakeBytes;

namespace {

constexpr std::size_t kDatagrams = 64;
constexpr std::size_t kGrh = 40;  // before each datagram that comes

}  // namespace

Result<void> PortDatagrams::make(std::uint32_t key) {
  key_ = key;
  const verbs::Symbols& symbols = *parts_.device.symbols;
  auto cq = verbs::create_cq(symbols, parts_.device.context, 2 * kDatagrams, parts_.events);
  if (!cq) return fail(std::move(cq.error()));
  cq_ = std::move(*cq);
  verbs::QueueSizes sizes;
  sizes.sends = sizes.receives = kDatagrams;
  auto qp = verbs::create_qp(symbols, parts_.pd, IBV_QPT_UD, cq_, cq_, {}, sizes);
  if (!qp) return fail(std::move(qp.error()));
  qp_ = std::move(*qp);
  if (auto ready = verbs::ready_datagrams(symbols, qp_, port(), key_); !ready) return ready;
  out_.emplace(symbols, parts_.pd, kHandshakeBytes, IBV_ACCESS_LOCAL_WRITE);
  in_.emplace(symbols, parts_.pd, kGrh + kHandshakeBytes, IBV_ACCESS_LOCAL_WRITE);
  for (Buffers* const buffers : {&*out_, &*in_})
    if (auto added = buffers->add(kDatagrams); !added) return added;
  while (std::byte* const buffer = in_->take())
    if (auto posted = post(buffer); !posted) return posted;
  return {};
}

connect::UdAddress PortDatagrams::address() const {
  connect::UdAddress address;
  std::memcpy(address.gid.data(), port().gid.raw, address.gid.size());
  address.lid = port().lid;
  address.qpn = qp_->qp_num;
  return address;
}

void PortDatagrams::send(const connect::UdAddress& to, const std::string& bytes) {
  std::byte* const buffer = out_->take();
  if (buffer == nullptr) return;
  verbs::Target target;
  target.lid = to.lid;
  std::memcpy(target.gid.raw, to.gid.data(), sizeof target.gid.raw);
  auto ah = verbs::create_ah(*parts_.device.symbols, parts_.pd, verbs::address_of(port(), target));
  std::memcpy(buffer, bytes.data(), bytes.size());
  ibv_sge piece{reinterpret_cast<std::uint64_t>(buffer), static_cast<std::uint32_t>(bytes.size()),
                out_->key_of(buffer)};
  ibv_send_wr request{}, *bad = nullptr;
  request.wr_id = reinterpret_cast<std::uint64_t>(buffer);
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  Result<void> posted;
  if (ah) {
    request.wr.ud.ah = ah->get();
    request.wr.ud.remote_qpn = to.qpn;
    request.wr.ud.remote_qkey = key_;
    if (const int error = ::ibv_post_send(qp_.get(), &request, &bad); error != 0)
      posted = fail(verbs::verbs_error("send a datagram", parts_.device.context.get(), error));
  } else {
    posted = fail(std::move(ah.error()));
  }
  if (!posted) {
    out_->give_back(buffer);
    return judge_device(sending_, "say anything to others", posted.error());
  }
  sending_.over();
  under_way_.emplace_back(buffer, std::move(*ah));
}

void PortDatagrams::judge_device(DeviceHealth& health, const char* what, const Error& error) {
  if (health.lasts(user_.now())) user_.failed(index_, cat(what, ": ", error.text()));
}

Result<void> PortDatagrams::post(std::byte* buffer) {
  ibv_sge piece{reinterpret_cast<std::uint64_t>(buffer),
                static_cast<std::uint32_t>(kGrh + kHandshakeBytes), in_->key_of(buffer)};
  ibv_recv_wr request{}, *bad = nullptr;
  request.wr_id = reinterpret_cast<std::uint64_t>(buffer);
  request.sg_list = &piece;
  request.num_sge = 1;
  if (const int error = ::ibv_post_recv(qp_.get(), &request, &bad); error != 0)
    return fail(
        verbs::verbs_error("post a buffer for datagrams", parts_.device.context.get(), error));
  return {};
}

void PortDatagrams::post_those_left() {
  while (!unposted_.empty()) {
    if (auto posted = post(unposted_.back()); !posted)
      return judge_device(receiving_, "hear what others say", posted.error());
    unposted_.pop_back();
    receiving_.over();
  }
}

unsigned PortDatagrams::poll(std::vector<std::string>& received) {
  std::array<ibv_wc, 16> completions;
  const int count =
      ::ibv_poll_cq(cq_.get(), static_cast<int>(completions.size()), completions.data());
  if (count < 0) user_.failed(index_, "poll the completion queue of datagrams");
  post_those_left();
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = completions[static_cast<std::size_t>(i)];
    auto* const buffer = reinterpret_cast<std::byte*>(wc.wr_id);
    if (std::erase_if(under_way_, [&](const auto& slot) { return slot.first == buffer; }) != 0) {
      out_->give_back(buffer);
      continue;
    }
    if (wc.status == IBV_WC_SUCCESS && wc.byte_len > kGrh)
      received.emplace_back(reinterpret_cast<const char*>(buffer) + kGrh, wc.byte_len - kGrh);
    if (!post(buffer)) unposted_.push_back(buffer);
  }
  return static_cast<unsigned>(std::max(0, count));
}

}  // namespace scela::channel
