// The steps of programs in a random sequence of verbs: good and bad requests, changes of state, and
// objects that are made and destroyed.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "tests/unit/hca/core/model_scene.h"

namespace scela::hca::test::model {

class Steps : protected Scene {
 protected:
  using Scene::Scene;

  // ---- requests

  const model::Region* region_of(int process, std::uint32_t rights) {
    for (const auto& [number, region] : world_.regions)
      if (region.process == process && region.pd == own_pd_.at(process) &&
          (region.rights & rights) == rights)
        return &region;
    return nullptr;
  }
  Sge piece(int process, int of, Zone zone, std::uint64_t offset, std::uint32_t length) {
    const model::Region* region = region_of(process, kAllRights);
    if (!region) return {1, length, 99};
    const auto at = static_cast<std::uint64_t>(offset_of(zone, slot_.at(of)));
    return {region->iova + at + offset, length, region->key};
  }
  // Makes an element of a list wrong.
  void spoil(int process, Sge& sge) {
    switch (random_.below(4)) {
      case 0:
        sge.lkey ^= 0x80000000;
        break;
      case 1: {
        const model::Region* region = nullptr;
        for (const auto& [number, other] : world_.regions)
          if (other.process == process && other.rights == 0) region = &other;
        if (region) sge.lkey = region->key;
        break;
      }
      case 2:
        for (const auto& [number, other] : world_.regions)
          if (other.process == process && other.pd != own_pd_.at(process)) sge.lkey = other.key;
        break;
      default:
        sge.address += zones * kSlots * kSlotBytes;
    }
  }
  static bool changes_memory(Opcode opcode) {
    return opcode == Opcode::rdma_read || opcode == Opcode::fetch_add ||
           opcode == Opcode::compare_swap;
  }
  model::Send make_send(int number) {
    const model::Qp& qp = world_.qps.at(number);
    constexpr std::array kOpcodes{
        Opcode::send,      Opcode::send_with_imm, Opcode::rdma_write,   Opcode::rdma_write_with_imm,
        Opcode::rdma_read, Opcode::fetch_add,     Opcode::compare_swap, Opcode::bind_mw};
    const bool may_fail = !managed_;
    model::Send send;
    SendRequest& request = send.request;
    request.wr_id = ++wr_id_;
    request.opcode = kOpcodes[random_.below(kOpcodes.size() - (random_.chance(1, 10) ? 0 : 1))];
    if (qp.type == QpType::ud && !random_.chance(1, 20))
      request.opcode = kOpcodes[random_.below(2)];
    if (qp.type == QpType::uc && !random_.chance(1, 20))
      request.opcode = kOpcodes[random_.below(4)];
    if (managed_ && request.opcode == Opcode::bind_mw) request.opcode = Opcode::send;
    request.flags = static_cast<std::uint32_t>(random_.below(8));
    request.immediate = static_cast<std::uint32_t>(random_.next());
    request.compare_add = random_.below(3);
    request.swap = random_.next();
    const bool atomic =
        request.opcode == Opcode::fetch_add || request.opcode == Opcode::compare_swap;
    const Zone zone = changes_memory(request.opcode) ? landing : source;
    std::uint32_t bytes = std::array{0U, 8U, 40U, 200U}[random_.below(4)];
    if (atomic) bytes = may_fail && random_.chance(1, 20) ? 4 : 8;
    if (random_.chance(1, 5) &&
        (!changes_memory(request.opcode) || (may_fail && random_.chance(1, 20)))) {
      request.flags |= send_flag::kInlined;
      send.data.resize(std::min(bytes, 40U) + (may_fail && random_.chance(1, 20) ? 200 : 0));
      for (std::byte& byte : send.data)
        byte = static_cast<std::byte>(random_.next());
      bytes = static_cast<std::uint32_t>(send.data.size());
    } else if (bytes > 8 && random_.chance(1, 2)) {
      send.sges = {piece(qp.process, number, zone, 0, 8),
                   piece(qp.process, number, zone, 8, bytes - 8)};
    } else if (bytes > 0 || random_.chance(1, 2)) {
      send.sges = {piece(qp.process, number, zone, 8, bytes)};
    }
    if (may_fail && !send.sges.empty() && random_.chance(1, 15))
      spoil(qp.process, send.sges[random_.below(send.sges.size())]);
    if (may_fail && random_.chance(1, 60) && send.data.empty())
      send.sges.resize(qp.sges + 1, piece(qp.process, number, zone, 0, 0));
    aim(number, request, bytes);
    return send;
  }
  // Aims the request at the memory of the process at the other end, or near it.
  void aim(int number, SendRequest& request, std::uint64_t bytes) {
    const model::Qp& qp = world_.qps.at(number);
    int process = -1;
    for (const Joined& pair : pairs_)
      if (alive(pair) && (pair.one == number || pair.other == number))
        process = world_.qps.at(pair.one == number ? pair.other : pair.one).process;
    if (qp.type == QpType::xrc_send) {
      for (const auto& [index, srq] : world_.srqs)
        if (srq.xrcd >= 0 && (process < 0 || random_.chance(1, 2))) {
          request.remote_srqn = srq.number;
          process = srq.process;
        }
      if (random_.chance(1, 20)) request.remote_srqn ^= 0x10000;
    }
    if (qp.type == QpType::ud) {
      int other = -1;
      for (const auto& [index, candidate] : world_.qps)
        if (candidate.type == QpType::ud && (other < 0 || random_.chance(1, 2))) other = index;
      const model::Qp& to = world_.qps.at(other);
      request.destination.lid = lid(world_.node_of.at(to.process));
      if (random_.chance(1, 20)) request.destination.lid = 99;
      request.destination.qpn = to.number;
      request.destination.qkey = random_.chance(1, 10) ? 0x2222 : 0x1111;
      request.destination.port = 1;
      return;
    }
    if (process < 0 || !programs_.contains(process)) process = qp.process;
    Sge there = piece(process, number, target, random_.below(2) * 8, 0);
    if (!managed_ && random_.chance(1, 12)) spoil(process, there);
    if (!managed_ && random_.chance(1, 40)) there.address += 4;
    if (!managed_ && random_.chance(1, 40)) there.address = ~0ULL - bytes / 2;
    request.remote_address = there.address;
    request.rkey = there.lkey;
  }
  void post_send(int number, const model::Send& send) {
    const model::Qp& qp = world_.qps.at(number);
    SendRequest request = send.request;
    say() << "post to qp " << number << " opcode " << static_cast<int>(request.opcode) << " id "
          << request.wr_id << " flags " << request.flags << " bytes " << model::bytes_of(send)
          << " sges " << send.sges.size();
    std::vector<Sge> body = send.sges;
    world_.post_send(number, send);
    if (!send.data.empty()) {
      // The data stand in the place of the list.
      request.inline_bytes = static_cast<std::uint32_t>(send.data.size());
      body.resize((std::min<std::size_t>(send.data.size(), qp.inline_bytes) + 15) / 16);
      std::memcpy(body.data(), send.data.data(), std::min(send.data.size(), body.size() * 16));
    }
    const std::size_t fits = (qps_.at(number).made.send_stride - sizeof request) / sizeof(Sge);
    request.sge_count = static_cast<std::uint32_t>(send.sges.size());
    body.resize(std::min(body.size(), fits));
    program(qp.process).post_raw(qps_.at(number), request, body);
  }
  std::vector<Sge> make_list(int process, int of, bool whole) {
    std::vector<Sge> sges;
    if (whole || random_.chance(3, 4)) {
      sges = {piece(process, of, receives, 0, 100), piece(process, of, receives, 100, 156)};
    } else if (random_.chance(1, 2)) {
      sges = {piece(process, of, receives, 0, 48)};
    }
    if (!managed_ && !sges.empty() && random_.chance(1, 20)) spoil(process, sges.back());
    return sges;
  }
  void post_receive(int number) {
    const model::Qp& qp = world_.qps.at(number);
    // Implementations differ in what a message that is too long does to an unreliable connection.
    const auto sges = make_list(qp.process, number, managed_ || qp.type == QpType::uc);
    say() << "receive at qp " << number << " sges " << sges.size();
    world_.post_receive(number, {++wr_id_, sges, 0});
    program(qp.process).post_recv(qps_.at(number), wr_id_, sges);
  }
  void post_shared(int number) {
    model::Srq& srq = world_.srqs.at(number);
    if (srq.receives.size() >= 16) return;
    const auto sges = make_list(srq.process, number, true);
    say() << "receive at srq " << number;
    world_.post_shared(number, {++wr_id_, sges, 0});
    program(srq.process).post_srq(srqs_.at(number), wr_id_, sges);
  }

  // ---- steps

  bool takes_sends(const model::Qp& qp) const {
    return qp.type != QpType::xrc_recv && qp.state >= QpState::rts && qp.sends.size() < 20;
  }
  bool takes_receives(const model::Qp& qp) const {
    return qp.type != QpType::xrc_recv && qp.type != QpType::xrc_send && qp.srq < 0 &&
           qp.state != QpState::reset && qp.receives.size() < 20;
  }
  void batch(int number) {
    for (std::uint64_t i = random_.between(1, 4); i > 0; --i)
      if (takes_sends(world_.qps.at(number))) post_send(number, make_send(number));
  }
  int peer(int number) const {
    for (const Joined& pair : pairs_)
      if (pair.one == number || pair.other == number)
        return pair.one == number ? pair.other : pair.one;
    return -1;
  }
  // Lets queue pairs that have nothing to do with each other send at once.
  void crowd() {
    std::set<int> busy;
    for (const Joined& pair : pairs_) {
      if (!alive(pair)) continue;
      const model::Qp& one = world_.qps.at(pair.one);
      if ((one.type != QpType::rc && one.type != QpType::uc) || one.srq >= 0) continue;
      const int sender = random_.chance(1, 2) ? pair.one : pair.other;
      if (takes_sends(world_.qps.at(sender))) batch(sender);
    }
  }
  void step() {
    const int number = any(world_.qps);
    if (number < 0) return add_pair_again();
    model::Qp& qp = world_.qps.at(number);
    const std::uint64_t what = random_.below(100);
    if (what < 40) {
      if (takes_sends(qp)) batch(number);
    } else if (what < 60) {
      for (std::uint64_t i = random_.between(1, 4); i > 0; --i)
        if (takes_receives(qp)) post_receive(number);
    } else if (what < 70) {
      const int srq = any(world_.srqs);
      for (std::uint64_t i = random_.between(1, 4); i > 0 && srq >= 0; --i)
        post_shared(srq);
    } else if (what < 75) {
      crowd();
    } else if (what < 85) {
      change_state(number);
    } else if (what < 90) {
      for (const Joined& pair : pairs_)
        if (pair.one == number || pair.other == number) again(pair);
    } else if (what < 93) {
      destroy(number);
    } else if (what < 96) {
      change_regions();
    } else if (what < 98) {
      busy_objects();
    } else if (what < 99) {
      if (programs_.size() > 1) leave(any(programs_));
    } else {
      add_pair_again();
    }
  }
  void add_pair_again() {
    if (!programs_.empty() && next_slot_ + 4 < kSlots) add_pair();
  }
  void change_state(int number) {
    model::Qp& qp = world_.qps.at(number);
    QpAttributes value;
    const auto change = [&](QpState to, std::uint32_t mask) {
      expect(modify(number, value, to, mask), 0, "modify");
      world_.change(number, to, value, mask);
    };
    switch (random_.below(4)) {
      case 0:
        if (qp.state == QpState::reset)
          expect(modify(number, value, QpState::err, 0), EINVAL, "reset to error");
        else
          change(QpState::err, 0);
        break;
      case 1:
        change(QpState::reset, 0);
        break;
      case 2:
        // If there are several requests, it is unknown which of them have begun.
        if (qp.state == QpState::rts && qp.sends.size() <= 1 && qp.type != QpType::xrc_recv) {
          value.sqd_notify = 1;
          change(QpState::sqd, random_.chance(1, 2) ? a::kSqdNotify : 0);
        }
        break;
      default:
        if (qp.state == QpState::sqd || qp.state == QpState::sqe) {
          change(QpState::rts, 0);
        } else if (qp.state == QpState::err || qp.state == QpState::init) {
          expect(modify(number, value, QpState::rts, 0), EINVAL, "modify to rts");
        }
    }
  }
  void again(const Joined& pair) {
    if (!alive(pair)) return;
    for (const int number : std::set<int>{pair.one, pair.other}) {
      expect(modify(number, {}, QpState::reset, 0), 0, "reset");
      world_.change(number, QpState::reset, {}, 0);
    }
    join(pair);
  }
  void destroy(int number) {
    model::Qp& qp = world_.qps.at(number);
    Ask ask;
    ask.operation = Operation::destroy_qp;
    ask.handle = qp.number;
    int process = qp.process;
    if (!qp.holders.empty()) {
      process = qp.holders.front().first;
      qp.holders.erase(qp.holders.begin());
    }
    say() << "destroy qp " << number << " by " << process;
    expect(program(process).request(ask).error, 0, "destroy_qp");
    if (qp.holders.empty()) world_.qps.erase(number);
  }
  // Returns true if both ends of a connection try again. Which of them misses a region first
  // depends on the time.
  bool both_wait() const {
    return std::ranges::any_of(pairs_, [&](const Joined& pair) {
      return alive(pair) && pair.one != pair.other && !world_.qps.at(pair.one).sends.empty() &&
             !world_.qps.at(pair.other).sends.empty();
    });
  }
  void change_regions() {
    if (random_.chance(1, 2)) {
      const int process = any(programs_);
      add_region(process, own_pd_.at(process), kAllRights);
      say() << "register at " << process;
      return;
    }
    const int number = any(world_.regions);
    if (number < 0 || both_wait()) return;
    const model::Region& region = world_.regions.at(number);
    Ask ask;
    ask.operation = Operation::dereg_mr;
    ask.handle = region.key;
    say() << "deregister at " << region.process;
    expect(program(region.process).request(ask).error, 0, "dereg_mr");
    // The region is gone, and no process can deregister it again.
    for (const auto& [process, other] : programs_)
      if (world_.node_of.at(process) == world_.node_of.at(region.process))
        expect(other->request(ask).error, EINVAL, "dereg_mr again");
    world_.regions.erase(number);
  }
  void busy_objects() {
    Ask ask;
    for (const auto& [number, qp] : world_.qps) {
      if (qp.type == QpType::xrc_recv) continue;
      ask.operation = Operation::destroy_cq;
      ask.handle = cqs_.at(qp.send_cq);
      expect(program(qp.process).request(ask).error, EBUSY, "destroy_cq");
      ask.operation = Operation::dealloc_pd;
      ask.handle = pds_.at(qp.pd);
      expect(program(qp.process).request(ask).error, EBUSY, "dealloc_pd");
      if (qp.srq < 0) continue;
      ask.operation = Operation::destroy_srq;
      ask.handle = srqs_.at(qp.srq).handle;
      expect(program(qp.process).request(ask).error, EBUSY, "destroy_srq");
    }
  }
  void leave(int process) {
    say() << "process " << process << " leaves";
    program(process).leave();
    programs_.erase(process);
    for (auto at = world_.qps.begin(); at != world_.qps.end();) {
      model::Qp& qp = at->second;
      std::erase_if(qp.holders, [&](const auto& holder) { return holder.first == process; });
      const bool goes = qp.type == QpType::xrc_recv ? qp.holders.empty() : qp.process == process;
      at = goes ? world_.qps.erase(at) : std::next(at);
    }
    const auto his = [&](const auto& entry) { return entry.second.process == process; };
    std::erase_if(world_.srqs, his);
    std::erase_if(world_.cqs, his);
    std::erase_if(world_.regions, his);
    world_.memory.erase(process);
  }

  // Posts requests that wait for completions and that release others. None of them fails, so the
  // order in which the queue pairs take turns does not matter.
  void managed_step() {
    const int number = any(world_.qps);
    if (number < 0) return;
    const model::Qp& qp = world_.qps.at(number);
    const std::uint64_t what = random_.below(10);
    if (what < 4) {
      if (takes_sends(qp)) batch(number);
    } else if (what < 7) {
      for (std::uint64_t i = random_.between(1, 4); i > 0; --i)
        if (takes_receives(qp)) post_receive(number);
    } else if (takes_sends(qp)) {
      post_task(number);
    }
  }
  void post_task(int number) {
    const model::Qp& qp = world_.qps.at(number);
    // A task begins when the messages before it have left. On one node they have arrived by then.
    const bool behind_messages =
        std::any_of(qp.sends.begin(), qp.sends.end(),
                    [](const model::Send& before) { return before.request.opcode < Opcode::wait; });
    if (remote_ && behind_messages) return;
    model::Send send;
    SendRequest& request = send.request;
    request.wr_id = ++wr_id_;
    request.flags = send_flag::kSignaled;
    std::vector<int> queues, held;
    for (const auto& [index, cq] : world_.cqs)
      if (cq.process == qp.process) queues.push_back(index);
    for (const auto& [index, other] : world_.qps)
      if (other.process == qp.process && (other.holds_sends || other.holds_receives))
        held.push_back(index);
    const std::uint64_t what = random_.below(3);
    if (what == 0) {
      const int cq = queues[random_.below(queues.size())];
      request.opcode = Opcode::wait;
      request.wait_until = world_.cqs.at(cq).produced + random_.below(3);
      request.compare_add = static_cast<std::uint64_t>(cq);
      request.target = cqs_.at(cq);
    } else if (what == 1 && !held.empty()) {
      const int other = held[random_.below(held.size())];
      const model::Qp& to = world_.qps.at(other);
      const bool is_send = to.holds_sends && (!to.holds_receives || random_.chance(1, 2));
      request.opcode = is_send ? Opcode::send_enable : Opcode::recv_enable;
      request.wait_until = random_.between(1, 3);
      request.compare_add = static_cast<std::uint64_t>(other);
      request.target = qps_.at(other).handle;
    } else {
      request.opcode = Opcode::calc;
      request.target = 2 << 8;  // a sum of 32 bits without sign
      // No send is reading these bytes.
      for (std::uint64_t operand = 0; operand < 3; ++operand)
        send.sges.push_back(piece(qp.process, number, source, 208 + 8 * operand, 8));
    }
    post_send(number, send);
  }
};

}  // namespace scela::hca::test::model
