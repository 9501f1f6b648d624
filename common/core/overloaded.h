// Several lambdas as one visitor, for std::visit: Overloaded{[](const A&) {...}, [](const B&)
// {...}}. The lambda that fits the alternative is called.
#pragma once

namespace scela {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace scela
