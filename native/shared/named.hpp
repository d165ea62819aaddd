// Values that Python knows by a name, such as the enumerators of an option.
#pragma once

namespace hedgerow {

template <class Value>
struct Named {
  const char* name;
  Value value;
};

}  // namespace hedgerow
