# The toolchain of tools/wheels.py: the compiler of the PyPI package ziglang (Clang, linkers and the C libraries of
# all platforms), for the platform in the environment variable ZIG_TARGET, such as aarch64-macos.11.0; ZIG is its path.
if(NOT "$ENV{ZIG_TARGET}" MATCHES "^([^-]+)-([^-.]+)")
  message(FATAL_ERROR "ZIG_TARGET=$ENV{ZIG_TARGET} names no platform such as x86_64-linux-musl.")
endif()
set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
set(system_linux Linux)
set(system_macos Darwin)
set(system_windows Windows)
set(CMAKE_SYSTEM_NAME ${system_${CMAKE_MATCH_2}})
set(X86_64_LEVEL -mcpu=x86_64_)

if(NOT CMAKE_CXX_COMPILER_ID)
  set(CMAKE_CXX_COMPILER $ENV{ZIG} c++ -fno-sanitize=all)
endif()
set(CMAKE_CXX_COMPILER_TARGET $ENV{ZIG_TARGET})
# Before it links, zig compiles the libraries of C and C++ for each kind of program: configuration links none.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_ARCHIVE_CREATE "$ENV{ZIG} ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "")
set(LINKER_FLAGS -s)
if(CMAKE_SYSTEM_NAME STREQUAL Linux)  # a module's own C++ library is nobody else's
  string(APPEND LINKER_FLAGS " -Wl,-Bsymbolic")
endif()
set(CMAKE_MODULE_LINKER_FLAGS_INIT ${LINKER_FLAGS})
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${LINKER_FLAGS})
# This file is read once more after CMake's own settings, which would link bundles for macOS: zig knows none.
set(CMAKE_USER_MAKE_RULES_OVERRIDE ${CMAKE_CURRENT_LIST_FILE})
set(CMAKE_SHARED_MODULE_CREATE_CXX_FLAGS -shared)
