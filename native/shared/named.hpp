// Values with names, such as the enumerators of an option: Python selects them by name.
#pragma once

namespace hedgerow {

template <class Value>
struct Named {
  const char* name;
  Value value;
};

}  // namespace hedgerow
