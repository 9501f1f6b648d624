#include "nla/spawn/ssh/agent_forward.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <list>
#include <utility>

#include "common/os/asio.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

using Descriptor = boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// A login needs one channel; more than this at a time is no login.
constexpr std::size_t kMaxChannels = 16;

Fd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int got =
      made ? ::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address)
           : -1;
  return got == 0 ? std::move(made) : Fd();
}

}  // namespace

class AgentForward::Impl {
 public:
  Impl(boost::asio::io_context& io, ssh_session session, std::string socket,
       std::function<void()> written)
      : io_(io), session_(session), socket_(std::move(socket)), written_(std::move(written)) {
    callbacks_.userdata = this;
    callbacks_.channel_open_request_auth_agent_function = [](ssh_session, void* self) {
      return static_cast<Impl*>(self)->open();
    };
    ssh_callbacks_init(&callbacks_);
    ::ssh_set_callbacks(session_, &callbacks_);
  }
  ~Impl() {
    ::ssh_set_callbacks(session_, nullptr);
    // The channels are freed with the session.
    for (Stream& one : streams_)
      ::ssh_remove_channel_callbacks(one.channel, &one.callbacks);
  }

 private:
  struct Stream {
    explicit Stream(boost::asio::io_context& io) : agent(io) {}
    ssh_channel channel = nullptr;
    Descriptor agent;
    ssh_channel_callbacks_struct callbacks{};
    Impl* owner = nullptr;
    bool over = false;
  };

  ssh_channel open() {
    std::erase_if(streams_, [](const Stream& one) { return one.over; });
    if (streams_.size() >= kMaxChannels) return nullptr;
    Fd agent = connect_to(socket_);
    if (!agent) return nullptr;
    Stream& made = streams_.emplace_back(io_);
    made.channel = ::ssh_channel_new(session_);
    made.owner = this;
    made.agent.assign(agent.release());
    made.callbacks.userdata = &made;
    made.callbacks.channel_data_function = [](ssh_session, ssh_channel, void* data,
                                              std::uint32_t size, int, void* stream) {
      return static_cast<Stream*>(stream)->owner->to_agent(*static_cast<Stream*>(stream), data,
                                                           size);
    };
    made.callbacks.channel_eof_function = [](ssh_session, ssh_channel, void* stream) {
      static_cast<Stream*>(stream)->owner->end(*static_cast<Stream*>(stream));
    };
    made.callbacks.channel_close_function = made.callbacks.channel_eof_function;
    ssh_callbacks_init(&made.callbacks);
    ::ssh_set_channel_callbacks(made.channel, &made.callbacks);
    read_agent(made);
    return made.channel;
  }

  int to_agent(Stream& stream, const void* data, std::uint32_t size) {
    if (stream.over) return static_cast<int>(size);
    const ssize_t sent =
        retry([&] { return ::send(stream.agent.native_handle(), data, size, MSG_NOSIGNAL); });
    if (sent != static_cast<ssize_t>(size)) end(stream);
    return static_cast<int>(size);
  }

  void read_agent(Stream& stream) {
    stream.agent.async_wait(Descriptor::wait_read, [this, &stream](const error_code& error) {
      if (error) return;  // the stream may be gone
      char bytes[4096];
      const ssize_t got =
          retry([&] { return ::read(stream.agent.native_handle(), bytes, sizeof bytes); });
      if (got > 0) {
        ::ssh_channel_write(stream.channel, bytes, static_cast<std::uint32_t>(got));
        read_agent(stream);
      } else if (got == 0 || errno != EAGAIN) {
        end(stream);
      } else {
        read_agent(stream);
      }
      written_();
    });
  }

  void end(Stream& stream) {
    if (std::exchange(stream.over, true)) return;
    error_code ignored;
    stream.agent.close(ignored);
    ::ssh_channel_send_eof(stream.channel);
    ::ssh_channel_close(stream.channel);
  }

  boost::asio::io_context& io_;
  ssh_session session_;
  std::string socket_;
  std::function<void()> written_;
  ssh_callbacks_struct callbacks_{};
  std::list<Stream> streams_;  // addresses are held by libssh
};

AgentForward::AgentForward(boost::asio::io_context& io, ssh_session_struct* session,
                           std::string socket, std::function<void()> written)
    : impl_(std::make_unique<Impl>(io, session, std::move(socket), std::move(written))) {}
AgentForward::~AgentForward() = default;

}  // namespace scela::nla
