// Several lambdas as one visitor, for std::visit.
#pragma once

namespace scela {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace scela
