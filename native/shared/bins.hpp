// The number of bins of a column, for all engines.
#pragma once

namespace hedgerow {

inline constexpr int kBins = 256;        // histogram entries of a column
inline constexpr int kMissingBin = 255;  // the last of them holds the missing values

}  // namespace hedgerow
