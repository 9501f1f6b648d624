// The parts of Boost.Asio that shells use, configured once for one thread, without locks.
//
// Only .cpp files include this header; headers forward-declare boost::asio::io_context. The macros
// come from the common/os target, so that every file of a program sees the same ones.
#pragma once

#if !defined(BOOST_ASIO_DISABLE_THREADS)
#error "Asio must be configured by the target common/os"
#endif

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
