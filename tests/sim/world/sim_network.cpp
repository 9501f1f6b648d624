#include "tests/sim/world/sim_network.h"

#include <algorithm>

#include "common/core/frame.h"

namespace scela::sim {

namespace {

bool same(const nla::Message& a, const nla::Message& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& one) {
        using M = std::decay_t<decltype(one)>;
        const M& other = std::get<M>(b);
        if constexpr (std::is_same_v<M, nla::msg::Log>) {
          return one.record.level == other.record.level &&
                 one.record.subsystem == other.record.subsystem &&
                 one.record.node == other.record.node && one.record.text == other.record.text;
        } else {
          return one == other;
        }
      },
      a);
}

std::uint64_t output_bytes(const nla::Message& message) {
  const auto* output = std::get_if<nla::msg::Output>(&message);
  return output != nullptr ? output->bytes.size() : 0;
}

}  // namespace

std::string through_codec(nla::Message& message, Random& random) {
  const nla::Encoded encoded = nla::encode(message);
  std::string bytes = encoded.head;
  bytes += encoded.tail.view();
  const std::string name(nla::name_of(message));
  FrameDecoder decoder;
  const std::size_t first = random.below(bytes.size() + 1);
  decoder.feed(std::string_view(bytes).substr(0, first));
  auto frame = decoder.next();
  if (frame && !frame->has_value()) {
    decoder.feed(std::string_view(bytes).substr(first));
    frame = decoder.next();
  } else if (first < bytes.size()) {
    return name + ": the frame ended before its bytes did";
  }
  if (!frame) return name + ": " + frame.error().text();
  if (!frame->has_value() || !decoder.at_boundary()) return name + ": its frame has another length";
  auto decoded = nla::decode(std::move(**frame));
  if (!decoded) return name + ": " + decoded.error().text();
  if (!same(message, *decoded)) return name + ": it changed on its way through the codec";
  message = std::move(*decoded);
  return {};
}

Micros Network::delay() {
  const Pace& pace = schedule_.pace;
  Micros delay = random_.between(pace.link_min, std::max(pace.link_min, pace.link_max));
  if (pace.tail > 0 && random_.chance(1, pace.tail)) delay *= 20;
  return delay;
}

std::uint32_t Network::open(std::uint32_t parent, std::uint32_t parent_link, std::uint32_t host) {
  Link& link = links_.emplace_back();
  link.parent = parent;
  link.parent_link = parent_link;
  link.host = host;
  return static_cast<std::uint32_t>(links_.size() - 1);
}

void Network::connect(std::uint32_t index, std::uint32_t child) {
  Link& link = links_[index];
  link.child = child;
  link.state = Link::State::running;
  for (std::size_t i = 0; i < link.way[1].queue.size(); ++i) {
    link.way[1].last_at = std::max(link.way[1].last_at, now_ + delay());
    tasks_.add(link.way[1].last_at, TaskKind::deliver, index, 1);
  }
}

void Network::send(std::uint32_t index, bool down, nla::Message message) {
  Link& link = links_[index];
  ++messages_;
  if (link.broken || link.state == Link::State::failed) return;
  in_flight_output_ += output_bytes(message);
  Link::Way& way = link.way[down];
  way.queue.push_back(std::move(message));
  if (link.state == Link::State::starting) return;
  way.last_at = std::max(way.last_at, now_ + delay());
  tasks_.add(way.last_at, TaskKind::deliver, index, down);
}

bool Network::take(std::uint32_t index, bool down, nla::Message& message, std::string& fault) {
  Link::Way& way = links_[index].way[down];
  if (way.queue.empty()) return false;
  message = std::move(way.queue.front());
  way.queue.pop_front();
  in_flight_output_ -= output_bytes(message);
  if (schedule_.codec_every > 0 && random_.chance(1, schedule_.codec_every)) {
    fault = through_codec(message, random_);
  }
  return true;
}

void Network::drop(std::uint32_t index, bool down) {
  for (const nla::Message& message : links_[index].way[down].queue) {
    in_flight_output_ -= output_bytes(message);
  }
  links_[index].way[down].queue.clear();
}

void Network::schedule_end(std::uint32_t index, bool at_child, Micros at) {
  Link& link = links_[index];
  if (link.end_due[at_child]) return;
  link.end_due[at_child] = true;
  if (!at_child) link.parent_end_at = at;
  tasks_.add(at, TaskKind::end_seen, index, at_child);
}

void Network::cut(std::uint32_t index) {
  Link& link = links_[index];
  if (link.broken) return;
  link.broken = link.severed = true;
  drop(index, false);
  drop(index, true);
  schedule_end(index, false, now_ + notice());
  schedule_end(index, true, now_ + notice());
}

void Network::end_of(std::uint32_t index, bool child_ended, bool silent) {
  Link& link = links_[index];
  link.broken = true;
  drop(index, child_ended);  // what was on its way to the end that is no more
  if (silent) drop(index, !child_ended);
  const Micros flushed = silent ? now_ + notice() : link.way[!child_ended].last_at;
  link.end_due[child_ended] = true;  // no end is left to tell
  schedule_end(index, !child_ended, std::max(flushed, now_ + delay()));
}

void Network::close_by_parent(std::uint32_t index) {
  Link& link = links_[index];
  link.end_due[0] = link.end_told[0] = true;
  link.parent_end_at = now_;
  link.broken = link.severed = true;
  drop(index, false);
  if (link.state == Link::State::running) {
    schedule_end(index, true, std::max(link.way[1].last_at, now_ + delay()));
  }
}

void Network::gone(std::uint32_t index) {
  Link& link = links_[index];
  if (link.gone_due || link.state == Link::State::failed) return;
  link.gone_due = true;
  if (!link.end_due[0]) schedule_end(index, false, now_ + delay());
  tasks_.add(std::max(link.parent_end_at, now_) + random_.below(1000), TaskKind::child_gone, index);
}

}  // namespace scela::sim
