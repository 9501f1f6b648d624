#include "launcher/io/stdin_reader.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <string>

#include "launcher/io/raw_terminal.h"
#include "launcher/io/watched.h"

namespace scela {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kPiece = std::size_t{64} * 1024;
// The interval at which a background job checks for input that waits at its terminal.
constexpr std::chrono::milliseconds kBackground{500};

}  // namespace

class StdinReader::Impl {
 public:
  Impl(asio::io_context& io, Hooks hooks)
      : io_(io), hooks_(std::move(hooks)), in_(io, 0), foreground_(io) {}

  void allow(std::uint64_t bytes) {
    credit_ += bytes;
    read();
  }

  void close() {
    closed_ = true;
    foreground_.cancel();
    in_.close();
  }

 private:
  void read() {
    if (over_ || credit_ == 0 || waiting_ || closed_) return;
    waiting_ = true;
    if (in_.open()) {
      in_.wait_readable([this] { ready(); });
      return;
    }
    // A regular file or a closed descriptor never blocks. One piece is read per turn of the loop,
    // so that signals and links get theirs.
    asio::post(io_, [this] {
      waiting_ = false;
      if (closed_) return;
      take();
      read();
    });
  }

  void ready() {
    waiting_ = false;
    if (closed_) return;
    if (in_background()) return wait_foreground();
    hooks_.in_foreground();
    take();
    read();
  }

  void take() {
    std::string bytes(std::min<std::uint64_t>(credit_, kPiece), '\0');
    const ssize_t got = ::read(0, bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    over_ = got <= 0;
    credit_ -= bytes.size();
    hooks_.read(Chunk(std::move(bytes)), over_);
  }

  void wait_foreground() {
    waiting_ = true;
    foreground_.expires_after(kBackground);
    foreground_.async_wait([this](const boost::system::error_code& error) {
      waiting_ = false;
      if (!error) read();
    });
  }

  asio::io_context& io_;
  const Hooks hooks_;
  Watched in_;
  asio::steady_timer foreground_;
  std::uint64_t credit_ = 0;
  bool over_ = false;  // the end was read
  // True while waiting for input, for a turn of the loop, or for the foreground.
  bool waiting_ = false;
  bool closed_ = false;
};

StdinReader::StdinReader(asio::io_context& io, Hooks hooks)
    : impl_(std::make_unique<Impl>(io, std::move(hooks))) {}
StdinReader::~StdinReader() = default;

void StdinReader::allow(std::uint64_t bytes) {
  impl_->allow(bytes);
}

void StdinReader::close() {
  impl_->close();
}

}  // namespace scela
